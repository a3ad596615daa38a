import { type Link, type Outgoing, type Reply, type Request, success, WireError } from "callwire";

type Settle = (reply: Reply | undefined | PromiseLike<Reply | undefined>) => void;

/** A call over a link that the test controls. */
export interface Carried {
  readonly request: Request;
  readonly outgoing: Outgoing;
  readonly resolve: Settle;
  readonly reject: (error: unknown) => void;
}

/**
 * What a link does with a request: answers it, throws, or leaves it open by returning undefined.
 */
export type Behaviour = (request: Request, carried: Carried) => Reply | Promise<Reply> | undefined;

/** A link whose peer is the test. */
export class HandLink implements Link {
  /** Each payload as it was sent: one request, or an array of them. */
  readonly payloads: (Request | readonly Request[])[] = [];
  readonly calls: Carried[] = [];
  closed = 0;
  behaviour: Behaviour;

  /** Without a behaviour calls stay open. */
  constructor(behaviour: Behaviour = () => undefined) {
    this.behaviour = behaviour;
  }

  /** The payloads as a reader of the wire sees them. */
  get written(): unknown[] {
    return JSON.parse(JSON.stringify(this.payloads)) as unknown[];
  }

  get methods(): string[] {
    return this.calls.map(({ request }) => request.method);
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    this.payloads.push(request);
    return this.#carry(request, outgoing);
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): Promise<Reply | undefined>[] {
    this.payloads.push(requests);
    return requests.map((request, i) => this.#carry(request, outgoing[i] as Outgoing));
  }

  async close(): Promise<void> {
    this.closed++;
    for (const { reject } of this.calls) reject(new WireError("CLOSED", "the link was closed"));
  }

  #carry(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    return new Promise((resolve, reject) => {
      const carried: Carried = { request, outgoing, resolve, reject };
      this.calls.push(carried);
      outgoing.cancel = reject;
      const reply = this.behaviour(request, carried);
      if (reply !== undefined) resolve(reply);
      else if (request.id === undefined) resolve(undefined);
    });
  }
}

/** Answers with the request, for tests that look at the wire. */
export const parrot: Behaviour = ({ id, method, params }) =>
  id === undefined ? undefined : success([method, params ?? null]);

/** Answers as a stream without items does. */
export const emptyStream: Behaviour = ({ id }) => (id === undefined ? undefined : success(null));
