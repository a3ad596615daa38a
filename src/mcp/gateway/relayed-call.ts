import type { Ending } from "../../protocol/call-end.ts";
import type { Linked } from "../../protocol/linked-list.ts";
import type { ClientCapabilities } from "../capabilities.ts";
import type { Answering } from "../client/input.ts";
import type { InputRequest } from "../client-input.ts";
import type { FeatureCall } from "../server/feature-call.ts";

/** One call on its way to a server behind the gateway: how that server reaches the client. */
export interface RelayedCall extends Linked<RelayedCall> {
  /** Ends when the client cancels. */
  readonly ending: Ending;
  /** The call as the gateway got it; in the modern era, that of the current round. */
  readonly call: FeatureCall | undefined;
  /** Asks the client. */
  ask(request: InputRequest): Promise<object>;
}

/** A call whose client can be asked while it runs. */
export class DirectCall implements RelayedCall {
  prev: RelayedCall | undefined = undefined;
  next: RelayedCall | undefined = undefined;
  readonly call: FeatureCall;

  constructor(call: FeatureCall) {
    this.call = call;
  }

  get ending(): Ending {
    return this.call.ending;
  }

  ask(request: InputRequest): Promise<object> {
    return this.call.ask(request);
  }
}

/** What a server behind the gateway may ask the client of one call. */
export class RelayedInput implements Answering {
  readonly capabilities: ClientCapabilities;
  readonly taskCapability = undefined;
  readonly #relayed: RelayedCall;

  constructor(relayed: RelayedCall) {
    this.#relayed = relayed;
    this.capabilities = relayed.call?.caller.capabilities ?? {};
  }

  get visitsPages(): boolean {
    return this.capabilities.elicitation?.url !== undefined;
  }

  takesTasks(): boolean {
    return false;
  }

  answer(request: InputRequest): Promise<object> {
    return this.#relayed.ask(request);
  }
}
