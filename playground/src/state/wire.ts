import { signal } from "@preact/signals";
import { isObject } from "../schema/resolve.ts";
import { type TransportName, transportLabels } from "./settings.ts";

export type Direction = "sent" | "received";

export type Kind =
  | "call"
  | "notification"
  | "batch"
  | "result"
  | "error"
  | "item"
  | "progress"
  | "push"
  | "control"
  | "other";

/** A message as it travelled. */
export interface WireMessage {
  /** Counts from 1, over all that ever travelled. */
  readonly number: number;
  /** When it passed, in milliseconds of the system's clock. */
  readonly at: number;
  readonly direction: Direction;
  readonly transport: TransportName;
  readonly kind: Kind;
  /** The method, or what it answers. */
  readonly label: string;
  readonly id: string;
  /** The beginning of what it says. */
  readonly gist: string;
  readonly text: string;
  readonly bytes: number;
  /** From the call to this reply. */
  readonly durationMs: number | undefined;
}

/** What is kept; older messages make room. */
export const mostMessages = 20_000;
const mostBytes = 64 * 1024 * 1024;

let kept: WireMessage[] = [];
let keptBytes = 0;
let count = 0;
let announced = false;
/** When calls left, by transport and id. */
const open = new Map<string, { at: number; method: string }>();
const encoder = new TextEncoder();

/** Changes at most once a frame, when something travelled. */
export const revision = signal(0);
/** The number of the message after which nothing is shown, while the view is paused. */
export const pausedAfter = signal<number | undefined>(undefined);
export const filter = signal("");
export const selected = signal<number | undefined>(undefined);

export function record(transport: TransportName, text: string, direction: Direction): void {
  const seen = performance.now();
  const told = classify(transport, text, direction, seen);
  const bytes = text.length < 1024 ? encoder.encode(text).length : utf8Length(text);
  kept.push({ number: ++count, at: Date.now(), direction, transport, text, bytes, ...told });
  keptBytes += bytes;
  if (kept.length > mostMessages + 1_000 || keptBytes > mostBytes) trim();
  announce();
}

/** Messages that the view shows, the oldest first. */
export function shown(): readonly WireMessage[] {
  const after = pausedAfter.value;
  const wanted = filter.value.trim().toLowerCase();
  if (after === undefined && wanted === "") return kept;
  return kept.filter(
    (message) =>
      (after === undefined || message.number <= after) &&
      (wanted === "" || matches(message, wanted)),
  );
}

export function total(): number {
  return count;
}

export function messageAt(number: number | undefined): WireMessage | undefined {
  return number === undefined ? undefined : kept.find((message) => message.number === number);
}

export function clear(): void {
  kept = [];
  keptBytes = 0;
  selected.value = undefined;
  if (pausedAfter.value !== undefined) pausedAfter.value = count;
  revision.value++;
}

export function togglePause(): void {
  pausedAfter.value = pausedAfter.value === undefined ? count : undefined;
}

/** As the transcripts of the project have it: `-->` is sent, `<--` is received. */
export function transcript(messages: readonly WireMessage[]): string {
  return messages
    .map(({ at, direction, transport, text }) => {
      const arrow = direction === "sent" ? "-->" : "<--";
      return `# ${new Date(at).toISOString()} ${transportLabels[transport]}\n${arrow} ${text.replaceAll("\n", " ")}\n`;
    })
    .join("");
}

function announce(): void {
  if (announced) return;
  announced = true;
  // A page in the background has no frames, and a timer instead.
  const tell = (): void => {
    announced = false;
    revision.value++;
  };
  if (document.hidden) setTimeout(tell, 200);
  else requestAnimationFrame(tell);
}

function trim(): void {
  let drop = Math.max(0, kept.length - mostMessages);
  let bytes = kept.slice(0, drop).reduce((sum, message) => sum + message.bytes, 0);
  while (keptBytes - bytes > mostBytes && drop < kept.length - 1) bytes += kept[drop++]?.bytes ?? 0;
  kept = kept.slice(drop);
  keptBytes -= bytes;
}

function utf8Length(text: string): number {
  return new Blob([text]).size;
}

function matches(message: WireMessage, wanted: string): boolean {
  return (
    message.label.toLowerCase().includes(wanted) ||
    message.kind.includes(wanted) ||
    message.text.toLowerCase().includes(wanted)
  );
}

type Told = Pick<WireMessage, "kind" | "label" | "id" | "durationMs" | "gist">;

const longestGist = 120;

function gistOf(value: unknown): string {
  const text = value === undefined ? "" : JSON.stringify(value);
  return text.length > longestGist ? `${text.slice(0, longestGist)}…` : text;
}

function classify(
  transport: TransportName,
  text: string,
  direction: Direction,
  seen: number,
): Told {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return { kind: "other", label: "not JSON", id: "", gist: "", durationMs: undefined };
  }
  const key = (id: unknown): string => `${transport} ${direction} ${JSON.stringify(id)}`;
  const answered = (id: unknown): string =>
    `${transport} ${direction === "sent" ? "received" : "sent"} ${JSON.stringify(id)}`;
  if (Array.isArray(message)) {
    const entries = message.filter(isObject);
    const isCalls = entries.some(({ method }) => method !== undefined);
    if (isCalls) {
      for (const { id, method } of entries) if (id !== undefined) remember(key(id), method, seen);
      return {
        kind: "batch",
        label: `batch of ${message.length}`,
        id: "",
        gist: gistOf(entries.map(({ method }) => method)),
        durationMs: undefined,
      };
    }
    const begun = entries.flatMap(({ id }) => take(answered(id)) ?? []);
    return {
      kind: "batch",
      label: `${message.length} answers`,
      id: "",
      gist: gistOf(entries.map(({ result, error }) => error ?? result)),
      durationMs: begun[0] === undefined ? undefined : seen - begun[0].at,
    };
  }
  if (!isObject(message))
    return { kind: "other", label: "", id: "", gist: "", durationMs: undefined };
  const { method, id, params } = message;
  if (typeof method === "string") {
    if (method.startsWith("$/")) return control(transport, method, params);
    if (id === undefined || id === null) {
      const kind = direction === "received" ? "push" : "notification";
      return { kind, label: method, id: "", gist: gistOf(params), durationMs: undefined };
    }
    remember(key(id), method, seen);
    return {
      kind: "call",
      label: method,
      id: String(id),
      gist: gistOf(params),
      durationMs: undefined,
    };
  }
  const begun = take(answered(id));
  const isError = message.error !== undefined && message.error !== null;
  return {
    kind: isError ? "error" : "result",
    label: begun?.method ?? (isError ? "error" : "result"),
    id: id === null || id === undefined ? "" : String(id),
    gist: gistOf(isError ? message.error : message.result),
    durationMs: begun === undefined ? undefined : seen - begun.at,
  };
}

function control(transport: TransportName, method: string, params: unknown): Told {
  const about = isObject(params) ? (params.id ?? params.token) : undefined;
  const id = about === undefined || about === null ? "" : String(about);
  const begun = open.get(`${transport} sent ${JSON.stringify(about)}`);
  const kinds: Readonly<Record<string, Kind>> = { "$/stream": "item", "$/progress": "progress" };
  const kind = kinds[method] ?? "control";
  const label = kind === "control" ? method : (begun?.method ?? method);
  const gist = gistOf(kind === "control" || !isObject(params) ? params : params.value);
  return { kind, label, id, gist, durationMs: undefined };
}

function remember(key: string, method: unknown, at: number): void {
  // Calls that are never answered must not fill memory.
  if (open.size > 10_000) open.clear();
  open.set(key, { at, method: String(method) });
}

function take(key: string): { at: number; method: string } | undefined {
  const found = open.get(key);
  open.delete(key);
  return found;
}
