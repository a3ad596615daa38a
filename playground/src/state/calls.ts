import { computed, signal } from "@preact/signals";
import { isRpcError, type Params, WireError } from "callwire";
import { naturalJson } from "callwire/openrpc";
import type { ParamsValue } from "../schema/params.ts";
import { isObject } from "../schema/resolve.ts";
import type { Fault } from "../schema/validate.ts";
import * as draft from "./draft.ts";
import { drop, filesIn, type ReceivedFile, withFiles } from "./files.ts";
import { remember } from "./history.ts";
import { jsonText } from "./json-text.ts";
import { measured } from "./measure.ts";
import { isStream, selectedMethod } from "./methods.ts";
import { caller, noteLoss } from "./session.ts";
import { uploadFault, uploadItems } from "./upload.ts";

export interface Failure {
  /** The code of the error that the server sent, or of the failure of the connection. */
  readonly code: number | string;
  readonly message: string;
  readonly data?: unknown;
  /** Whether the server answered it. */
  readonly answered: boolean;
}

/** An item as the page shows it; a long one is cut, because the wire panel shows all of it. */
export interface ShownItem {
  readonly text: string;
  /** Whether the item is a string, and not another value written as JSON. */
  readonly isText: boolean;
}

/** A call that was made from the page, and its outcome. */
export interface Run {
  /** Counts the calls of this page. */
  readonly number: number;
  readonly method: string;
  readonly kind: "call" | "stream" | "notification";
  readonly state: "running" | "done" | "failed" | "stopped";
  readonly durationMs: number;
  readonly result?: unknown;
  /** Bytes in the result. */
  readonly files?: readonly ReceivedFile[];
  readonly failure?: Failure;
  /** The last items of a stream. */
  readonly items: readonly ShownItem[];
  readonly itemCount: number;
  /** The last progress of the method. */
  readonly progress?: unknown;
}

/** Most items that are kept, and most characters that are shown of each. */
const mostItems = 500;
const longestItem = 5_000;

export const run = signal<Run | undefined>(undefined);
export const isRunning = computed(() => run.value?.state === "running");

let current: AbortController | undefined;
let last = 0;

/** Calls the chosen method with the current params. */
export async function call(): Promise<void> {
  const method = selectedMethod.value;
  const client = caller.value;
  if (method === undefined || client === undefined || !mayStart()) return;
  const params = draft.paramsToSend();
  const { signal, update, finish } = begin(
    method.name,
    isStream(method) ? "stream" : "call",
    params,
  );
  try {
    const onProgress = (value: unknown): void => update({ progress: naturalJson(value) });
    const upload = method["x-upload"] === undefined ? undefined : uploadItems.value;
    const options = { signal, onProgress, ...(upload && { upload }) };
    const sent = withFiles(params) as Params;
    if (isStream(method)) await readStream(client.stream(method.name, sent, options), update);
    else {
      const result = await client.call<unknown>(method.name, sent, options);
      finish({ state: "done", result: naturalJson(result), files: filesIn(result) });
      return;
    }
    finish({ state: signal.aborted ? "stopped" : "done" });
  } catch (error) {
    if (signal.aborted) finish({ state: "stopped" });
    else finish({ state: "failed", failure: failureOf(error) });
    noteLoss(error);
  }
}

/** Sends the call as a notification, which has no reply. */
export async function notify(): Promise<void> {
  const method = selectedMethod.value;
  const client = caller.value;
  if (method === undefined || client === undefined || !mayStart()) return;
  const params = draft.paramsToSend();
  const { finish } = begin(method.name, "notification", params);
  try {
    await client.notify(method.name, withFiles(params) as Params);
    finish({ state: "done" });
  } catch (error) {
    finish({ state: "failed", failure: failureOf(error) });
    noteLoss(error);
  }
}

/** Cancels the running call or stream, also on the server. */
export function stop(): void {
  current?.abort();
}

export function forget(): void {
  current?.abort();
  current = undefined;
  drop(run.value?.files ?? []);
  run.value = undefined;
}

/** Why a call failed: an error of the server, or a failure of the connection. */
export function failureOf(error: unknown): Failure {
  if (isRpcError(error)) {
    const { code, message, data } = error;
    return { code, message, data: naturalJson(data), answered: true };
  }
  if (error instanceof WireError) {
    return { code: error.code, message: error.message, answered: false };
  }
  return {
    code: "ERROR",
    message: error instanceof Error ? error.message : String(error),
    answered: false,
  };
}

/** Params that are not JSON are not sent; params that break the schema are, so that the server can report it. */
function mayStart(): boolean {
  draft.touched.value = true;
  return "value" in draft.parsed.value && uploadFault.value === undefined;
}

type Ending = Pick<Run, "state"> & Partial<Pick<Run, "result" | "files" | "failure">>;

function begin(method: string, kind: Run["kind"], params: ParamsValue) {
  forget();
  const controller = new AbortController();
  current = controller;
  draft.serverFaults.value = [];
  const started = performance.now();
  run.value = {
    number: ++last,
    method,
    kind,
    state: "running",
    durationMs: 0,
    items: [],
    itemCount: 0,
  };
  const isCurrent = (): boolean => current === controller && run.value !== undefined;
  const update = (changes: Partial<Run>): void => {
    if (isCurrent()) run.value = { ...(run.value as Run), ...changes };
  };
  const finish = (ending: Ending): void => {
    const durationMs = performance.now() - started;
    update({ ...ending, durationMs });
    if (isCurrent() && ending.failure !== undefined) {
      draft.serverFaults.value = issuesOf(ending.failure);
    }
    if (kind === "call" && ending.state !== "stopped") {
      measured(method, durationMs, ending.state === "done");
    }
    remember({ method, params, kind, outcome: ending.state, durationMs });
  };
  return { signal: controller.signal, update, finish };
}

async function readStream(
  stream: AsyncIterable<unknown>,
  update: (changes: Partial<Run>) => void,
): Promise<void> {
  const items: ShownItem[] = [];
  let itemCount = 0;
  let waiting = false;
  const show = (): void => {
    waiting = false;
    update({ items: items.slice(), itemCount });
  };
  try {
    for await (const item of stream) {
      itemCount++;
      items.push(shownItem(naturalJson(item)));
      if (items.length > 2 * mostItems) items.splice(0, items.length - mostItems);
      // A fast stream is drawn once a frame.
      if (!waiting) {
        waiting = true;
        requestAnimationFrame(show);
      }
    }
  } finally {
    show();
  }
}

function shownItem(item: unknown): ShownItem {
  const isText = typeof item === "string";
  const text = isText ? item : jsonText(item);
  return { isText, text: text.length > longestItem ? `${text.slice(0, longestItem)}…` : text };
}

/** Where the params are wrong according to the server, as servers of callwire report it. */
function issuesOf({ code, data }: Failure): Fault[] {
  if (code !== -32602 || !isObject(data) || !Array.isArray(data.issues)) return [];
  return data.issues.filter(isObject).map(({ path, message }) => ({
    path: Array.isArray(path) ? path.filter(isStep) : [],
    message: String(message),
    fromServer: true,
  }));
}

function isStep(step: unknown): step is string | number {
  return typeof step === "string" || typeof step === "number";
}
