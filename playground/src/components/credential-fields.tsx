import { useId } from "preact/hooks";
import { bearer, headerLines, headers, transport } from "../state/settings.ts";

/** Credentials of the caller. They stay in the memory of the page. */
export function CredentialFields() {
  const id = useId();
  const { faulty, given } = headers.value;
  return (
    <>
      <div class="field">
        <label for={`${id}-bearer`}>
          <span class="field-name">Bearer token</span>
          <span class="field-type">never stored</span>
        </label>
        <input
          id={`${id}-bearer`}
          type="password"
          autocomplete="off"
          value={bearer.value}
          onChange={(event) => {
            bearer.value = event.currentTarget.value;
          }}
        />
      </div>
      <div class="field">
        <label for={`${id}-headers`}>
          <span class="field-name">Headers</span>
          <span class="field-type">one per line, never stored</span>
        </label>
        <textarea
          id={`${id}-headers`}
          rows={3}
          placeholder={"x-api-key: …\nx-tenant: acme"}
          spellcheck={false}
          value={headerLines.value}
          aria-describedby={`${id}-about`}
          onChange={(event) => {
            headerLines.value = event.currentTarget.value;
          }}
        />
        <div class="field-notes" id={`${id}-about`}>
          {faulty.map((line) => (
            <span key={line} class="fault">
              “{line}” is not a header; write it as name: value
            </span>
          ))}
          {transport.value === "websocket" && Object.keys(given).length > 0 ? (
            <span class="fault">
              Browsers send no headers with a WebSocket. Use HTTP or SSE, or let callwire playground
              add them with --header.
            </span>
          ) : null}
        </div>
      </div>
    </>
  );
}
