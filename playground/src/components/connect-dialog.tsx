import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { reconnect, status } from "../state/session.ts";
import { endpoint, endpointFault, endpoints, target, version } from "../state/settings.ts";
import { isConnectOpen } from "../state/view.ts";
import { CredentialFields } from "./credential-fields.tsx";
import { Icon } from "./icon.tsx";
import { Segmented } from "./segmented.tsx";

/** The endpoint, and what is sent with each call. Secrets stay in the memory of the page. */
export function ConnectDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = isConnectOpen.value;
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const close = (): void => {
    isConnectOpen.value = false;
  };
  return (
    <dialog ref={dialog} aria-labelledby="connect-title" onClose={close}>
      <div class="card-head">
        <h2 id="connect-title">Connection</h2>
        <button type="button" class="quiet only-icon" title="Close" onClick={close}>
          <Icon name="close" />
          <span class="hidden">Close</span>
        </button>
      </div>
      {isOpen ? <Settings /> : null}
      <div class="actions">
        <button
          type="button"
          class="primary"
          onClick={() => {
            reconnect();
            close();
          }}
        >
          Done
        </button>
        {"message" in status.value ? <span class="fault">{status.value.message}</span> : null}
      </div>
    </dialog>
  );
}

function Settings() {
  const typed = useSignal(endpoint.value);
  const fault = endpointFault(typed.value);
  return (
    <div class="fields">
      {target.value === undefined ? null : (
        <p class="note">
          Calls are forwarded to <code>{target.value}</code>.
        </p>
      )}
      <div class="field">
        <label for="connect-url">
          <span class="field-name">URL</span>
        </label>
        <input
          id="connect-url"
          list="connect-urls"
          value={typed.value}
          aria-describedby="connect-url-about"
          aria-invalid={fault !== undefined}
          spellcheck={false}
          onInput={(event) => {
            typed.value = event.currentTarget.value;
          }}
          onChange={() => {
            if (endpointFault(typed.value) === undefined) endpoint.value = typed.value;
          }}
        />
        <datalist id="connect-urls">
          {endpoints.value.map((path) => (
            <option key={path} value={path} />
          ))}
        </datalist>
        <div class="field-notes" id="connect-url-about">
          {fault === undefined ? null : <span class="fault">{fault}</span>}
        </div>
      </div>
      <CredentialFields />
      <div class="field">
        <span class="field-name">Version of JSON-RPC</span>
        <Segmented
          label="Version of JSON-RPC"
          value={version.value}
          onChange={(name) => {
            version.value = name;
          }}
          options={[
            { value: "2.0", label: "2.0" },
            { value: "1.0", label: "1.0" },
          ]}
        />
      </div>
    </div>
  );
}
