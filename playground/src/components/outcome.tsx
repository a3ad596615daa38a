import { ErrorCode } from "callwire";
import type { OpenrpcMethod } from "callwire/openrpc";
import { isObject } from "../schema/resolve.ts";
import { type Failure, type Run, run } from "../state/calls.ts";
import { type ReceivedFile, save } from "../state/files.ts";
import { jsonText } from "../state/json-text.ts";
import { isStream } from "../state/methods.ts";
import { CopyButton } from "./copy-button.tsx";
import { CredentialsButton } from "./credentials.tsx";
import { Icon } from "./icon.tsx";
import { useInSight } from "./in-sight.ts";
import { JsonView } from "./json-view.tsx";
import { StreamItems } from "./stream-items.tsx";
import { duration, plural, size } from "./units.ts";

/** The outcome of the call. */
export function Outcome({ method }: { readonly method: OpenrpcMethod }) {
  const made = run.value;
  const section = useInSight<HTMLElement>(`${made?.number} ${made?.state}`);
  if (made === undefined || made.method !== method.name) return <FirstSteps method={method} />;
  return (
    <section
      ref={section}
      class={`card outcome ${made.state}`}
      aria-label="Outcome"
      aria-live="polite"
    >
      <div class="card-head">
        <h2>{headline(made)}</h2>
        {made.state === "running" ? null : <span class="took">{duration(made.durationMs)}</span>}
        {made.kind === "stream" ? <span class="took">{plural(made.itemCount, "item")}</span> : null}
        {made.state === "done" && made.kind === "call" ? (
          <CopyButton label="Copy the result" text={() => jsonText(made.result ?? null, 2)} />
        ) : null}
      </div>
      {made.progress === undefined || made.state !== "running" ? null : (
        <Progress value={made.progress} />
      )}
      {made.state === "running" && made.kind === "call" && made.progress === undefined ? (
        <div class="waiting" />
      ) : null}
      {made.kind === "stream" && made.itemCount > 0 ? <StreamItems run={made} /> : null}
      {made.failure === undefined ? null : <FailureView failure={made.failure} />}
      {made.state === "done" && made.kind === "call" ? (
        <JsonView value={made.result === undefined ? null : made.result} label="Result" />
      ) : null}
      {made.files === undefined || made.files.length === 0 ? null : <Files files={made.files} />}
      {made.state === "done" && made.kind === "notification" ? (
        <p class="note">
          It was sent without an id, so the server answers nothing, not even a failure.
        </p>
      ) : null}
    </section>
  );
}

function headline({ kind, state, failure }: Run): string {
  if (state === "running") return kind === "stream" ? "Streaming" : "Waiting for the answer";
  if (state === "stopped") return kind === "stream" ? "Stopped" : "Cancelled";
  if (state === "failed") return failure?.answered === true ? "Error" : "No answer";
  if (kind === "notification") return "Sent";
  return kind === "stream" ? "Stream ended" : "Result";
}

/** Explains in one sentence what to do, with the keys to press. */
function FirstSteps({ method }: { readonly method: OpenrpcMethod }) {
  return (
    <section class="card outcome empty" aria-label="Outcome">
      {isStream(method) ? (
        <p>
          A stream sends many items: start it, and they appear here one by one, until it ends or you
          stop it.
        </p>
      ) : (
        <p>
          A call is one JSON message: a method’s name, its params, and an id that the reply repeats.
          Press <strong>Call</strong> to see the reply here, and both messages in the wire view.{" "}
          <strong>Add to batch</strong> sends several calls as one message; methods marked “stream”
          send many items.
        </p>
      )}
    </section>
  );
}

/** Files, byte arrays and streams of the result. */
function Files({ files }: { readonly files: readonly ReceivedFile[] }) {
  return (
    <ul class="plain files" aria-label="Files in the result">
      {files.map((file, i) => (
        <li key={i}>
          <button type="button" onClick={() => void save(file)}>
            <Icon name="download" />
            Save {file.name}
            {file.size === undefined ? "" : ` (${size(file.size)})`}
          </button>
        </li>
      ))}
    </ul>
  );
}

function FailureView({ failure }: { readonly failure: Failure }) {
  return (
    <div class="failure">
      <p>
        <code class="code">{failure.code}</code> {failure.message}
      </p>
      {failure.data === undefined ? null : (
        <JsonView value={failure.data} label="Data of the error" />
      )}
      {failure.code === ErrorCode.Unauthenticated ? <CredentialsButton /> : null}
    </div>
  );
}

/** Progress has no fixed form: a fraction, a percentage, a count and a total, or anything else. */
function Progress({ value }: { readonly value: unknown }) {
  const share = shareOf(value);
  return (
    <div class="progress">
      <progress max={1} value={share} aria-label="Progress" />
      <span>{share === undefined ? jsonText(value) : `${Math.round(share * 100)} %`}</span>
    </div>
  );
}

function shareOf(value: unknown): number | undefined {
  if (typeof value === "number") return value <= 1 ? value : value / 100;
  if (!isObject(value)) return undefined;
  const { percent, percentage, progress, total, fraction } = value;
  if (typeof percent === "number") return percent / 100;
  if (typeof percentage === "number") return percentage / 100;
  if (typeof fraction === "number") return fraction;
  if (typeof progress !== "number") return undefined;
  return typeof total === "number" && total > 0
    ? progress / total
    : progress <= 1
      ? progress
      : undefined;
}
