import type { CallContext } from "../protocol/context.ts";
import { isEnvelope, membersOf } from "../protocol/envelope.ts";
import type { Params, Request } from "../protocol/message.ts";
import type { Peer } from "../protocol/origin.ts";
import { callsWhere } from "../protocol/origin-calls.ts";
import type { Running } from "../protocol/running.ts";

interface Tokens {
  readonly workDoneToken?: unknown;
  readonly partialResultToken?: unknown;
}

function tokensOf(params: unknown): Tokens {
  return isEnvelope(params) ? (params as Tokens) : {};
}

/**
 * The params of a call with the gateway's own tokens. Tokens of different callers, or a token and an id, may be equal, and
 * reports would reach the wrong caller.
 */
export function withOwnTokens(
  params: Params | undefined,
  id: number | undefined,
  partial: string | undefined,
): Params | undefined {
  const { workDoneToken: token } = tokensOf(params);
  if (token === undefined && partial === undefined) return params;
  return {
    ...params,
    ...(token === undefined
      ? undefined
      : { workDoneToken: typeof token === "string" ? `${id}` : id }),
    ...(partial === undefined ? undefined : { partialResultToken: partial }),
  } as Params;
}

/** Maps the gateway's tokens for partial results to those of the callers. */
export class PartialResults {
  readonly #lent = new Map<string, { readonly token: unknown; readonly peer: Peer }>();
  readonly #running: Running;
  #serial = 0;

  constructor(running: Running) {
    this.#running = running;
  }

  /** The token to send to the target instead of the one of the caller, if it has one. */
  lend({ params }: Request, peer: Peer): string | undefined {
    const { partialResultToken: token } = tokensOf(params);
    if (token === undefined) return undefined;
    const own = `partial ${++this.#serial}`;
    this.#lent.set(own, { token, peer });
    return own;
  }

  giveBack(own: string | undefined): void {
    if (own !== undefined) this.#lent.delete(own);
  }

  /** The params of a report that a target pushes, for its caller; undefined if the caller would mistake it for a report on another call. */
  reportTo(peer: Peer, params: Params | null | undefined): Params | undefined {
    const { token } = membersOf(params);
    const lent = this.#lent.get(token as string);
    if (lent?.peer === peer) return { ...params, token: lent.token };
    const calls = callsWhere(this.#running, (from) => (from.peer.end ?? from.peer) === peer);
    return calls.some(({ context }) => isReportedAs(token, context))
      ? undefined
      : (params ?? undefined);
  }
}

/** Whether the token belongs to this call, whose reports are relayed and never pushed. */
function isReportedAs(token: unknown, { request }: CallContext): boolean {
  return (
    token !== undefined &&
    (token === request.id || token === tokensOf(request.params).workDoneToken)
  );
}
