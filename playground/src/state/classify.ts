import { isObject } from "../schema/resolve.ts";
import { jsonText } from "./json-text.ts";
import type { TransportName } from "./settings.ts";

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
  | "closed"
  | "other";

/** What a message is about. */
export interface Told {
  readonly kind: Kind;
  /** The method, or what it answers. */
  readonly label: string;
  readonly id: string;
  /** The beginning of its content. */
  readonly gist: string;
  /** The time from the call to this reply. */
  readonly durationMs: number | undefined;
}

/** When calls were sent, by transport and id. */
const open = new Map<string, { at: number; method: string }>();

const longestGist = 120;

function gistOf(value: unknown): string {
  const text = value === undefined ? "" : jsonText(value);
  return text.length > longestGist ? `${text.slice(0, longestGist)}…` : text;
}

/** Classifies a message, with the duration of the call if the message is a reply. */
export function classify(
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

/** Finds the calls of a request that was closed, and how long it was open. */
export function classifyClosed(transport: TransportName, request: string, seen: number): Told {
  const payload: unknown = JSON.parse(request);
  const calls = (Array.isArray(payload) ? payload : [payload]).filter(isObject);
  const begun = calls.flatMap(({ id }) => take(`${transport} sent ${JSON.stringify(id)}`) ?? []);
  const [first] = calls;
  const isOne = !Array.isArray(payload);
  return {
    kind: "closed",
    label: isOne ? String(first?.method) : `batch of ${calls.length}`,
    id: isOne ? String(first?.id ?? "") : "",
    gist: "",
    durationMs: begun[0] === undefined ? undefined : seen - begun[0].at,
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
