import { forget } from "../state/calls.ts";
import { choose } from "../state/draft.ts";
import { forgetHistory, past } from "../state/history.ts";
import { pane } from "../state/view.ts";
import { duration, timeOfDay } from "./units.ts";

/** Earlier calls, which can be repeated. */
export function HistoryPanel() {
  const list = past.value;
  if (list.length === 0) {
    return (
      <p class="note empty">
        Calls that you make are kept here, in this browser only, without answers, tokens and
        headers.
      </p>
    );
  }
  return (
    <div class="history">
      <ul class="plain">
        {list.map(({ at, method, params, outcome, durationMs, kind }) => (
          <li key={`${at} ${method}`}>
            <button
              type="button"
              onClick={() => {
                forget();
                choose(method, { value: params });
                pane.value = "call";
              }}
            >
              <span class={`dot ${outcome}`} />
              <span class="history-name">{method}</span>
              <span class="took">
                {kind === "notification" ? "notified" : duration(durationMs)} ·{" "}
                {timeOfDay(at).slice(0, 8)}
              </span>
              <code>{params === undefined ? "no params" : JSON.stringify(params)}</code>
            </button>
          </li>
        ))}
      </ul>
      <footer class="note">
        <button type="button" class="quiet" onClick={forgetHistory}>
          Forget all
        </button>
      </footer>
    </div>
  );
}
