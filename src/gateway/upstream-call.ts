import type { Context } from "../protocol/context.ts";
import { compose, type Handle, type Middleware } from "../protocol/handle.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import type { Id, Reply, Request } from "../protocol/message.ts";
import type { Principal, Transport } from "../protocol/origin.ts";
import { outbound } from "../protocol/origin.ts";

/** Sends a call over the link to its target. */
export type SendUpstream = (
  link: Link,
  request: Request,
  outgoing: Outgoing,
  context: Context,
) => Promise<Reply | undefined>;

export const sendDirectly: SendUpstream = (link, request, outgoing) => link.send(request, outgoing);

/** Puts middleware around each attempt to send a call to a target, as a client has it. */
export function sendThrough(use: readonly Middleware[]): SendUpstream {
  if (use.length === 0) return sendDirectly;
  const handle: Handle = compose(use, (request, { outgoing }) => {
    if (outgoing?.link === undefined) throw new TypeError("context.outgoing is missing");
    return outgoing.link.send(request, outgoing);
  });
  return async (link, request, outgoing, context) =>
    handle(request, new UpstreamCall(request, Object.assign(outgoing, { link }), context));
}

/** What middleware sees of a call that a gateway sends on. */
class UpstreamCall implements Context {
  readonly id: Id | undefined;
  readonly method: string;
  readonly outgoing: Outgoing;
  principal: Principal | undefined;
  readonly #caller: Context;
  /** Missing, as on a client. */
  declare readonly peer: Context["peer"];

  constructor({ id, method }: Request, outgoing: Outgoing, caller: Context) {
    this.id = id;
    this.method = method;
    this.outgoing = outgoing;
    this.principal = caller.principal;
    this.#caller = caller;
  }

  get transport(): Transport {
    return outbound;
  }

  get signal(): AbortSignal {
    return this.#caller.signal;
  }

  get deadline(): number | undefined {
    return this.#caller.deadline;
  }

  get log(): Context["log"] {
    return this.#caller.log;
  }

  progress(): void {}

  notify(): boolean {
    return false;
  }
}
