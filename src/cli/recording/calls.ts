import type { ErrorObject, Id, Params, Reply } from "callwire";
import { Failure } from "../failure.ts";
import { fileText } from "../files.ts";
import type { Span } from "./difference.ts";
import { type RecordedMessage, redactedText } from "./recorder.ts";

export interface RecordedCall {
  readonly method: string;
  readonly params: Params | undefined;
  readonly isNotification: boolean;
  readonly items: unknown[];
  /** From the request to the last message of the reply. */
  time: Span;
  reply: Reply | undefined;
  /** Whether the caller cancelled or disconnected before the reply. */
  wasCancelled: boolean;
}

/** One call, or the entries of a batch. */
export type RecordedPayload = readonly RecordedCall[];

export interface Recording {
  readonly payloads: readonly RecordedPayload[];
  /** Calls with redacted params, and messages that are not calls. */
  readonly skipped: number;
}

type Envelope = Readonly<Record<string, unknown>>;

export async function readRecording(path: string): Promise<Recording> {
  const payloads: RecordedPayload[] = [];
  const open = new Map<string, RecordedCall>();
  let skipped = 0;
  for (const line of await linesOf(path)) {
    const messages = (Array.isArray(line.message) ? line.message : [line.message]).filter(
      isEnvelope,
    );
    const at = Date.parse(line.time);
    if (line.from === "server") {
      for (const message of messages) receive(open, line.connection, message, at);
      continue;
    }
    const calls: RecordedCall[] = [];
    for (const message of messages) {
      cancel(open, line.connection, message);
      const call = callOf(message, at);
      if (call === undefined) {
        // Replies to server calls, and $/ notifications, are not replayed.
        if (typeof message.method === "string" && !message.method.startsWith("$/")) skipped++;
        continue;
      }
      calls.push(call);
      if (!call.isNotification) open.set(keyOf(line.connection, message.id as Id), call);
    }
    if (line.unreadable !== undefined) skipped++;
    if (calls.length > 0) payloads.push(calls);
  }
  return { payloads, skipped };
}

async function linesOf(path: string): Promise<RecordedMessage[]> {
  return (await fileText(path))
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, i) => {
      try {
        const read = JSON.parse(line) as RecordedMessage;
        if (read.from === "client" || read.from === "server") return read;
      } catch {
        // Reported below, like JSON that is not a recorded message.
      }
      throw new Failure(`${path}:${i + 1} is not a recorded message`);
    });
}

function callOf(message: Envelope, at: number): RecordedCall | undefined {
  const { method, params, id } = message;
  if (typeof method !== "string" || method.startsWith("$/")) return undefined;
  if (params !== undefined && (typeof params !== "object" || params === null)) return undefined;
  if (JSON.stringify(params)?.includes(JSON.stringify(redactedText))) return undefined;
  return {
    method,
    params: params as Params | undefined,
    isNotification: id === undefined,
    items: [],
    time: { from: at, to: at },
    reply: undefined,
    wasCancelled: id !== undefined,
  };
}

function receive(
  open: Map<string, RecordedCall>,
  connection: number,
  message: Envelope,
  at: number,
): void {
  const { method, params, id, result, error } = message;
  const isItem = method === "$/stream" && isEnvelope(params);
  if (!isItem && method !== undefined) return;
  const call = open.get(keyOf(connection, (isItem ? params.id : id) as Id));
  if (call === undefined) return;
  call.time = { from: call.time.from, to: at };
  if (isItem) call.items.push(params.value);
  else {
    call.reply = { result, error: (error ?? undefined) as ErrorObject | undefined };
    call.wasCancelled = false;
  }
}

/** Ignores later replies to a cancelled call. */
function cancel(open: Map<string, RecordedCall>, connection: number, message: Envelope): void {
  const { method, params } = message;
  if (method === "$/cancelRequest" && isEnvelope(params)) {
    open.delete(keyOf(connection, params.id as Id));
  }
}

function keyOf(connection: number, id: Id): string {
  return `${connection} ${JSON.stringify(id)}`;
}

function isEnvelope(value: unknown): value is Envelope {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
