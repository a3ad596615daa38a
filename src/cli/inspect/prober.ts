import { WireError } from "callwire";
import { Failure } from "../failure.ts";
import { stopCode } from "../process-end.ts";
import type { RawAnswer, RawWire } from "../raw-wire.ts";

/** A name that no server has, so that nothing runs. */
export const unknownMethod = "callwire/inspect";

/** What came of one message. */
export interface Outcome {
  /** The answer as JSON; undefined where there was none. */
  readonly payload: unknown;
  readonly http: RawAnswer["http"];
  /** Set where the wire failed instead. */
  readonly failed: WireError | undefined;
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly expectsReply?: boolean;
  /** The id of a message that is given as text. */
  readonly id?: unknown;
  /** Hears of a reply that is for something else. */
  readonly onStray?: () => void;
}

/** Sends one message at a time, and counts them. */
export class Prober {
  asked = 0;
  /** The code that the server has for a method that is not there. */
  baseline: unknown = undefined;
  readonly #wire: RawWire;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal;
  #id = 0;

  constructor(wire: RawWire, timeoutMs: number, signal: AbortSignal) {
    this.#wire = wire;
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
  }

  /** A request that no server can run. */
  request(members: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    return { jsonrpc: "2.0", method: unknownMethod, ...members, id: ++this.#id };
  }

  async send(message: unknown, options: SendOptions = {}): Promise<Outcome> {
    this.asked++;
    const text = typeof message === "string" ? message : JSON.stringify(message);
    try {
      const { id = memberOf(message, "id"), onStray, ...rest } = options;
      const { text: answer, http } = await this.#wire.ask(text, {
        timeoutMs: this.#timeoutMs,
        signal: this.#signal,
        accepts: (reply) => {
          const isOurs = answersTo(id, reply);
          if (!isOurs) onStray?.();
          return isOurs;
        },
        ...rest,
      });
      return { payload: parsed(answer), http, failed: undefined };
    } catch (error) {
      if (this.#signal.aborted)
        throw new Failure("stopped", { cause: error, exitCode: stopCode() });
      if (error instanceof WireError) return { payload: undefined, http: undefined, failed: error };
      throw error;
    }
  }

  /** Whether the server took the message for one that it could read, and looked for the method. */
  understood({ payload }: Outcome): boolean {
    const code = codeOf(payload);
    return code === undefined ? hasMember(payload, "result") : code === this.baseline;
  }
}

/** JSON as a value; undefined where it is none. */
export function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A reply without an id may be ours: the server could not read it. */
function answersTo(id: unknown, text: string): boolean {
  const other = memberOf(parsed(text), "id") ?? undefined;
  return id === undefined || other === undefined || other === id;
}

export function hasMember(value: unknown, name: string): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name);
}

export function memberOf(value: unknown, name: string): unknown {
  return hasMember(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}

/** The code of an error response. */
export function codeOf(payload: unknown): number | undefined {
  const code = memberOf(memberOf(payload, "error"), "code");
  return typeof code === "number" ? code : undefined;
}

/** The statuses of a server that has something else at a path, or nothing. */
export function isNowhere(status: number | undefined): status is 404 | 405 {
  return status === 404 || status === 405;
}

/** Whether it came from where calls are taken; some servers say 404 of a method that is not there. */
export function isAnswered({ payload, http }: Pick<Outcome, "payload" | "http">): boolean {
  return isResponse(payload) && (!isNowhere(http?.status) || codeOf(payload) === -32601);
}

/** Whether something is a response at all, in either version. */
export function isResponse(payload: unknown): boolean {
  return hasMember(payload, "result") || typeof memberOf(payload, "error") === "object";
}
