import { transportLabels } from "../state/settings.ts";
import { messageAt, selected } from "../state/wire.ts";
import { CopyButton } from "./copy-button.tsx";
import { Icon } from "./icon.tsx";
import { JsonText } from "./json-view.tsx";
import { size, timeOfDay } from "./units.ts";

/** One message in full. */
export function WireDetail() {
  const message = messageAt(selected.value);
  if (message === undefined) return null;
  const { text, direction, kind, transport, at, bytes } = message;
  return (
    <section class="wire-detail" aria-label="Message">
      <div class="card-head">
        <h3>{kind === "closed" ? "Closed" : direction === "sent" ? "Sent" : "Received"}</h3>
        <span class="took">
          {transportLabels[transport]} · {timeOfDay(at)}
          {kind === "closed" ? "" : ` · ${size(bytes)}`}
        </span>
        <CopyButton label="Copy the message" text={() => text} />
        <button
          type="button"
          class="quiet only-icon"
          title="Close"
          onClick={() => {
            selected.value = undefined;
          }}
        >
          <Icon name="close" />
          <span class="hidden">Close</span>
        </button>
      </div>
      <JsonText text={pretty(text)} label="The message" />
    </section>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
