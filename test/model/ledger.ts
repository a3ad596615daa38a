import { ErrorCode, RpcError, WireError } from "callwire";
import type { Side } from "./controlled-wire.ts";
import { idempotentKinds, type Kind } from "./scenario.ts";

/** Most items that may be ahead of those that were read. */
const window = 64;
/** More than the window, so that the producer has to wait for credit. */
export const streamLength = 70;
/** So many that the source would be ahead by more than the window if credit did not hold it back. */
export const uploadLength = 100;

type Happening = "lose" | "stop" | "finish" | "crash" | "close" | "sleep";

interface Entry {
  readonly kind: Kind;
  begun: boolean;
  runs: number;
  outcome: PromiseSettledResult<unknown> | undefined;
  cancelled: boolean;
  /** Items read since the last gap. */
  items: number;
  gaps: number;
  /** Items sent in answer to the last request. */
  sent: number;
  requests: number;
  /** Items that an upload took from its source. */
  taken: number;
  /** Items that the last handler of an upload received. */
  received: number;
  /** Whether the source of an upload was released. */
  released: boolean;
}

/** What really happened to each call, and what the client reported; `check` compares them. */
export class Ledger {
  readonly #entries: Entry[];
  readonly #calls = new Map<unknown, number>();
  readonly #happened = new Set<Happening>();
  #fault: string | undefined;

  constructor(kinds: readonly Kind[]) {
    this.#entries = kinds.map((kind) => ({
      kind,
      begun: false,
      runs: 0,
      outcome: undefined,
      cancelled: false,
      items: 0,
      gaps: 0,
      sent: 0,
      requests: 0,
      taken: 0,
      received: 0,
      released: false,
    }));
  }

  happened(what: Happening): void {
    this.#happened.add(what);
  }

  begun(call: number): void {
    this.#entry(call).begun = true;
  }

  cancelled(call: number): void {
    this.#entry(call).cancelled = true;
  }

  ran(call: number): void {
    const entry = this.#entry(call);
    entry.runs++;
    entry.received = 0;
  }

  isOpen(call: number): boolean {
    return this.#entry(call).outcome === undefined;
  }

  settled(call: number, outcome: PromiseSettledResult<unknown>): void {
    const entry = this.#entry(call);
    if (entry.outcome !== undefined) this.#fault ??= `call ${call} settled twice`;
    entry.outcome = outcome;
  }

  gap(call: number): void {
    const entry = this.#entry(call);
    entry.gaps++;
    entry.items = 0;
    if (!isIdempotent(entry)) this.#fault ??= `call ${call} was repeated, but is not idempotent`;
  }

  item(call: number, item: unknown): void {
    const entry = this.#entry(call);
    if (item !== entry.items) this.#fault ??= `call ${call} got item ${item}, not ${entry.items}`;
    if (entry.outcome !== undefined) this.#fault ??= `call ${call} got an item after its end`;
    entry.items++;
  }

  /** The source of an upload is asked for an item. */
  taken(call: number): void {
    const entry = this.#entry(call);
    if (entry.outcome !== undefined) this.#fault ??= `call ${call} took an item after its end`;
    if (++entry.taken > entry.received + window && entry.outcome === undefined)
      this.#fault ??= `call ${call} took ${entry.taken} items, of which ${entry.received} were received`;
  }

  /** The source of an upload is exhausted, or was abandoned. */
  released(call: number): void {
    this.#entry(call).released = true;
  }

  /** The handler of an upload received an item. */
  received(call: number, item: unknown): void {
    const entry = this.#entry(call);
    if (item !== entry.received)
      this.#fault ??= `the handler of call ${call} got item ${item}, not ${entry.received}`;
    entry.received++;
  }

  /** A message was sent; the first of a call shows its id. */
  sent(from: Side, text: string): void {
    const parsed: unknown = JSON.parse(text);
    for (const message of [parsed].flat() as Message[]) {
      const { id, method, params } = message;
      if (from === "client" && typeof params?.call === "number") {
        const entry = this.#entry(params.call);
        if (entry.taken > 0) this.#fault ??= `call ${params.call} was repeated without its items`;
        entry.requests++;
        entry.sent = 0;
        if (id !== undefined) this.#calls.set(id, params.call);
      }
      if (method !== "$/stream") continue;
      const call = this.#calls.get(params?.id);
      if (call === undefined) this.#fault ??= "an item was sent for an unknown call";
      else this.#entry(call).sent++;
    }
  }

  /** A message without its id, which differs from run to run. */
  nameOf(text: string): string {
    return text.replace(/"id":(\d+)/g, (_, id) => `"id":"${this.#calls.get(Number(id))}"`);
  }

  summary(): unknown {
    return [
      [...this.#happened].sort(),
      this.#entries.map(({ outcome, ...entry }) => [Object.values(entry), labelOf(outcome)]),
    ];
  }

  get isUnsettled(): boolean {
    return this.#entries.some(({ begun, outcome }) => begun && outcome === undefined);
  }

  /** Throws if something is not as guaranteed. */
  check(): void {
    if (this.#fault !== undefined) throw new Error(this.#fault);
    for (const [call, entry] of this.#entries.entries()) {
      const fault = this.#faultIn(entry);
      if (fault !== undefined) throw new Error(`call ${call} (${entry.kind}) ${fault}`);
    }
  }

  /** Everything that was started has ended. */
  mustBeSettled(): void {
    if (this.isUnsettled) throw new Error("a call never settles");
    for (const [call, { kind, begun, released }] of this.#entries.entries()) {
      const isUpload = kind === "gather" || kind === "collect";
      if (begun && isUpload && !released)
        throw new Error(`the source of call ${call} is left open`);
    }
  }

  #faultIn(entry: Entry): string | undefined {
    const { kind, runs, outcome, cancelled, items, sent, received } = entry;
    if (runs > 1 && !isIdempotent(entry)) return `ran ${runs} times`;
    if (sent > items + window && outcome === undefined && !cancelled)
      return `was sent ${sent} items, of which ${items} were read`;
    if (outcome === undefined) return undefined;
    if (outcome.status === "fulfilled") {
      if (runs === 0 && kind !== "note") return "succeeded, but did not run";
      if (outcome.value === "end" && items !== streamLength)
        return `ended after ${items} of ${streamLength} items`;
      if (outcome.value === "all" && received !== uploadLength)
        return `ended after ${received} of ${uploadLength} items were received`;
      return undefined;
    }
    const { reason } = outcome;
    if (runs > 0 && saysNotRun(reason)) return `ran, but failed with ${labelOf(outcome)}`;
    return this.#explains(reason, cancelled) ? undefined : `failed with ${labelOf(outcome)}`;
  }

  /** Whether something happened that makes this failure true. */
  #explains(reason: unknown, cancelled: boolean): boolean {
    const has = (...any: readonly Happening[]): boolean =>
      any.some((one) => this.#happened.has(one));
    if (reason instanceof WireError) {
      switch (reason.code) {
        case "ABORTED":
          return cancelled;
        case "TIMEOUT":
          return has("sleep");
        case "CLOSED":
          return has("close");
        case "CONNECTION_LOST":
          return has("lose", "stop", "finish", "crash");
        case "CONNECTION_FAILED":
          return has("stop", "finish", "crash");
        default:
          return false;
      }
    }
    // The only error with which a connection that finishes ends a call that takes too long.
    const isCutShort = reason instanceof RpcError && reason.code === ErrorCode.ShuttingDown;
    return (isCutShort && has("finish")) || (reason instanceof RpcError && has("stop", "sleep"));
  }

  #entry(call: number): Entry {
    const entry = this.#entries[call];
    if (entry === undefined) throw new Error(`there is no call ${call}`);
    return entry;
  }
}

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly call?: unknown; readonly id?: unknown };
}

function isIdempotent({ kind }: Entry): boolean {
  return idempotentKinds.includes(kind);
}

/** Whether a caller may take this failure as "did not run". */
function saysNotRun(reason: unknown): boolean {
  if (reason instanceof WireError) return reason.code === "CONNECTION_FAILED";
  const { data } = reason as { readonly data?: { readonly ran?: unknown } };
  return data?.ran === false;
}

function labelOf(outcome: PromiseSettledResult<unknown> | undefined): string {
  if (outcome === undefined) return "open";
  if (outcome.status === "fulfilled") return String(outcome.value);
  const { code, message, data } = outcome.reason as RpcError;
  return `${code} "${message}" ${JSON.stringify(data) ?? ""}`;
}
