import { clearBatch, type Entry, entries, isSending, remove, send } from "../state/batch.ts";
import { jsonText } from "../state/json-text.ts";
import { Icon } from "./icon.tsx";
import { useInSight } from "./in-sight.ts";
import { plural } from "./units.ts";

/** Calls that are collected to be sent as one message. */
export function BatchTray() {
  const list = entries.value;
  const section = useInSight<HTMLElement>(String(list.length));
  if (list.length === 0) return null;
  const isAnswered = list.every(({ outcome }) => outcome !== undefined);
  return (
    <section ref={section} class="card batch" aria-label="Batch">
      <div class="card-head">
        <h2>Batch</h2>
        <span class="took">{plural(list.length, "call")} in one message</span>
        <button type="button" class="quiet" onClick={clearBatch}>
          Clear
        </button>
        <button
          type="button"
          class="primary"
          disabled={isSending.value}
          onClick={() => void send()}
        >
          <Icon name="send" />
          {isAnswered ? "Send again" : "Send batch"}
        </button>
      </div>
      <ol class="entries">
        {list.map((entry) => (
          <li key={entry.number}>
            <code class="entry-call">
              {entry.method} {entry.params === undefined ? "" : JSON.stringify(entry.params)}
            </code>
            <Answer entry={entry} />
            <button
              type="button"
              class="quiet only-icon"
              title={`Remove ${entry.method}`}
              onClick={() => remove(entry.number)}
            >
              <Icon name="close" />
              <span class="hidden">Remove {entry.method}</span>
            </button>
          </li>
        ))}
      </ol>
      {list.length === 1 ? (
        <p class="note">Add another call: one reply answers all calls of a batch.</p>
      ) : null}
    </section>
  );
}

function Answer({ entry: { outcome } }: { readonly entry: Entry }) {
  if (outcome === undefined) return <span class="faint">{isSending.value ? "sent" : "waits"}</span>;
  return "failure" in outcome ? (
    <code class="bad">
      {outcome.failure.code} {outcome.failure.message}
    </code>
  ) : (
    <code class="good">{jsonText(outcome.result ?? null)}</code>
  );
}
