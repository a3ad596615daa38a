import * as wire from "../state/wire.ts";
import { CopyButton } from "./copy-button.tsx";
import { Icon } from "./icon.tsx";
import { plural } from "./units.ts";
import { WireDetail } from "./wire-detail.tsx";
import { WireList } from "./wire-list.tsx";

/** All messages in both directions, as they were sent. */
export function WireView() {
  wire.revision.value;
  const messages = wire.shown();
  const { pausedAfter, filter } = wire;
  const isPaused = pausedAfter.value !== undefined;
  const missed = wire.total() - (pausedAfter.value ?? wire.total());
  return (
    <div class="wire">
      <div class="bar">
        <input
          type="search"
          placeholder="Filter messages"
          aria-label="Filter messages"
          value={filter.value}
          onInput={(event) => {
            filter.value = event.currentTarget.value;
          }}
        />
        <button
          type="button"
          class="quiet only-icon"
          aria-pressed={isPaused}
          title={isPaused ? "Go on" : "Pause"}
          onClick={wire.togglePause}
        >
          <Icon name={isPaused ? "play" : "pause"} />
          <span class="hidden">{isPaused ? "Go on" : "Pause"}</span>
        </button>
        <CopyButton label="Copy as a transcript" text={() => wire.transcript(messages)} />
        <button
          type="button"
          class="quiet only-icon"
          title="Export as a transcript"
          onClick={() => download(wire.transcript(messages))}
        >
          <Icon name="download" />
          <span class="hidden">Export as a transcript</span>
        </button>
        <button type="button" class="quiet only-icon" title="Clear" onClick={wire.clear}>
          <Icon name="trash" />
          <span class="hidden">Clear</span>
        </button>
      </div>
      {messages.length === 0 ? (
        <p class="note empty">
          {wire.filter.value === ""
            ? "Each message appears here: your requests, the replies of the server, and its notifications."
            : "No message matches."}
        </p>
      ) : (
        <WireList isPaused={isPaused} />
      )}
      <footer class="note">
        <span>{plural(messages.length, "message")}</span>
        {isPaused ? <span>paused, {missed.toLocaleString("en")} more since</span> : null}
        {messages.length > 0 && wire.selected.value === undefined ? (
          <span>select a message to read it</span>
        ) : null}
      </footer>
      <WireDetail />
    </div>
  );
}

function download(text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = "callwire-transcript.txt";
  anchor.click();
  URL.revokeObjectURL(url);
}
