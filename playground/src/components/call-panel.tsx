import type { JsonSchema, OpenrpcMethod } from "callwire/openrpc";
import { typeText } from "../schema/describe.ts";
import { formsOf } from "../schema/params.ts";
import { add, isFull } from "../state/batch.ts";
import { call, isRunning, notify, stop } from "../state/calls.ts";
import * as draft from "../state/draft.ts";
import { isStream, selectedMethod } from "../state/methods.ts";
import { components } from "../state/session.ts";
import { transport, version } from "../state/settings.ts";
import { uploadFault, uploadText } from "../state/upload.ts";
import { BatchTray } from "./batch-tray.tsx";
import { Icon } from "./icon.tsx";
import { JsonEditor } from "./json-editor.tsx";
import { Markdown } from "./markdown.tsx";
import { MethodReference } from "./method-reference.tsx";
import { Outcome } from "./outcome.tsx";
import { ParamsForm } from "./params-form.tsx";
import { Segmented } from "./segmented.tsx";
import { Welcome } from "./welcome.tsx";

/** The chosen method: its description, its params, and the outcome of the call. */
export function CallPanel() {
  const method = selectedMethod.value;
  return (
    <main class="panel call" id="call" tabIndex={-1}>
      <div class="scroll">
        {method === undefined ? (
          <Welcome />
        ) : (
          <>
            <MethodHead method={method} />
            <Try key={method.name} method={method} />
            <Outcome method={method} />
            <BatchTray />
            <MethodReference method={method} />
          </>
        )}
      </div>
    </main>
  );
}

function MethodHead({ method }: { readonly method: OpenrpcMethod }) {
  const timeoutMs = method["x-timeout-ms"];
  return (
    <header class="method-head">
      <h1>
        {method.name}
        {isStream(method) ? <span class="mark stream">stream</span> : null}
        {method["x-upload"] === undefined ? null : <span class="mark stream">upload</span>}
        {method.deprecated === true ? <span class="mark old">deprecated</span> : null}
        {method["x-idempotent"] === true ? (
          <span class="mark" title="Calling it twice has the same effect as calling it once">
            safe to repeat
          </span>
        ) : null}
        {timeoutMs === undefined ? null : <span class="mark">at most {timeoutMs} ms</span>}
        {(method.tags ?? []).map(({ name }) => (
          <span key={name} class="mark">
            {name}
          </span>
        ))}
      </h1>
      {method.summary === undefined ? null : <p class="lead">{method.summary}.</p>}
      <div class="about">
        <Markdown text={method.description} />
      </div>
    </header>
  );
}

function Try({ method }: { readonly method: OpenrpcMethod }) {
  const forms = version.value === "1.0" ? (["positional"] as const) : formsOf(method);
  const isUnreadable = "fault" in draft.parsed.value;
  const takesParams = method.params.length > 0 || method["x-params"] !== undefined;
  return (
    <section class="card try" aria-label="Try it">
      <div class="card-head">
        <h2>Params</h2>
        {takesParams ? (
          <Segmented
            label="How params are sent"
            value={draft.form.value}
            onChange={draft.setForm}
            options={[
              { value: "named", label: "by name", disabled: !forms.includes("named" as never) },
              {
                value: "positional",
                label: "by position",
                disabled: !forms.includes("positional" as never),
              },
            ]}
          />
        ) : null}
      </div>
      <div class="both">
        <ParamsForm method={method} />
        <JsonEditor />
      </div>
      {method["x-upload"] === undefined ? null : <UploadInput item={method["x-upload"].item} />}
      <Faults />
      <div class="actions">
        {isRunning.value ? (
          <button type="button" class="primary stop" onClick={stop}>
            <Icon name="stop" />
            {isStream(method) ? "Stop" : "Cancel"}
          </button>
        ) : (
          <button type="button" class="primary" disabled={isUnreadable} onClick={() => void call()}>
            <Icon name="play" />
            {isStream(method) ? "Start stream" : "Call"}
            <kbd>Ctrl ↵</kbd>
          </button>
        )}
        <button
          type="button"
          disabled={isUnreadable || isRunning.value}
          title="Send it without an id, so that there is no reply"
          onClick={() => void notify()}
        >
          <Icon name="bell" />
          Notify
        </button>
        <button
          type="button"
          disabled={isUnreadable || isFull.value || isStream(method)}
          title={
            isStream(method)
              ? "Streams are started on their own"
              : "Collect calls and send them as one message"
          }
          onClick={() => add()}
        >
          <Icon name="plus" />
          Add to batch
        </button>
      </div>
    </section>
  );
}

/** The items that the method receives while it runs. */
function UploadInput({ item }: { readonly item: JsonSchema }) {
  const fault = uploadFault.value;
  return (
    <div class="field">
      <label for="upload">
        <span class="field-name">upload</span>
        <span class="field-type">{typeText(item, components.value)}</span>
      </label>
      <textarea
        id="upload"
        rows={3}
        value={uploadText.value}
        placeholder="one item in each line, as JSON"
        aria-describedby="upload-about"
        aria-invalid={fault !== undefined}
        spellcheck={false}
        onInput={(event) => {
          uploadText.value = event.currentTarget.value;
        }}
      />
      <div class="field-notes" id="upload-about">
        {transport.value === "websocket" ? null : (
          <span>Browsers send uploads over WebSocket only.</span>
        )}
        {fault === undefined ? null : (
          <span class="fault" role="alert">
            {fault}
          </span>
        )}
      </div>
    </div>
  );
}

/** Faults that belong to no field. */
function Faults() {
  const { value: parsed } = draft.parsed;
  if ("fault" in parsed) return <p class="fault">{parsed.fault}</p>;
  const loose = draft.touched.value
    ? draft.faults.value.filter(({ path }) => path.length === 0)
    : [];
  return (
    <>
      {loose.map(({ message }) => (
        <p key={message} class="fault" role="alert">
          params {message}
        </p>
      ))}
    </>
  );
}
