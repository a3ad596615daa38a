import { WireError } from "callwire";
import { hasMember, memberOf, parsed } from "../json-values.ts";
import { stopped } from "../process-end.ts";
import type { RawAnswer, RawWire } from "../raw-wire.ts";

/** A method that no server has, so that nothing runs. */
export const unknownMethod = "callwire/inspect";

export interface Outcome {
  readonly payload: unknown;
  readonly http: RawAnswer["http"];
  readonly failed: WireError | undefined;
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly expectsReply?: boolean;
  /** The id of a message that is passed as a string. */
  readonly id?: unknown;
  /** Called for a reply with another id. */
  readonly onStray?: () => void;
}

export class Prober {
  asked = 0;
  /** The error code of the server for an unknown method. */
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
      if (this.#signal.aborted) throw stopped("stopped", error);
      if (error instanceof WireError) return { payload: undefined, http: undefined, failed: error };
      throw error;
    }
  }

  /** Whether the server accepted the message and looked up the method. */
  understood({ payload }: Outcome): boolean {
    const code = codeOf(payload);
    return code === undefined ? hasMember(payload, "result") : code === this.baseline;
  }
}

/** A reply without an id counts, because the server could not parse the request. */
function answersTo(id: unknown, text: string): boolean {
  const other = memberOf(parsed(text), "id") ?? undefined;
  return id === undefined || other === undefined || other === id;
}

export function codeOf(payload: unknown): number | undefined {
  const code = memberOf(memberOf(payload, "error"), "code");
  return typeof code === "number" ? code : undefined;
}

/** Statuses of a path that is not an endpoint. */
export function isNotEndpoint(status: number | undefined): status is 404 | 405 {
  return status === 404 || status === 405;
}

/** Whether an endpoint answered; some servers answer 404 for an unknown method. */
export function isAnswered({ payload, http }: Pick<Outcome, "payload" | "http">): boolean {
  return isResponse(payload) && (!isNotEndpoint(http?.status) || codeOf(payload) === -32601);
}

export function isResponse(payload: unknown): boolean {
  return hasMember(payload, "result") || typeof memberOf(payload, "error") === "object";
}
