import type { Ending } from "../../protocol/call-end.ts";
import type { Clock, Timer } from "../../protocol/clock.ts";
import { networkOf } from "../../protocol/network.ts";
import { type Share, Shares } from "../../protocol/shares.ts";
import { serverBusy } from "../../protocol/standard-errors.ts";
import type { InputRequest } from "../client-input.ts";
import { errorOf, invalidArguments, missingCapability } from "../errors.ts";
import {
  checkedAnswer,
  lackingCapability,
  type RoundRequester,
} from "../server/client-requester.ts";
import type { FeatureCall } from "../server/feature-call.ts";
import type { RelayedCall } from "./relayed-call.ts";

export type Relay = (relayed: RelayedCall) => Promise<object>;

interface Question {
  readonly request: InputRequest;
  readonly resolve: (answer: object) => void;
  readonly reject: (error: unknown) => void;
}

/** Most calls that wait for answers of clients; stops memory exhaustion. No client can take all of them. */
const mostHeld = 1_000;

/** The key of a question begins with the id of its call. */
const keyForm = /^([\da-f-]{36})\.\d+$/;

/**
 * Calls in which a server asks a client of the modern era something: the client's request ends with the question, but
 * the call to the server stays open, and gets the answer from the client's next request.
 */
export class HeldCalls {
  readonly #held = new Map<string, HeldCall>();
  readonly #shares = new Shares();
  readonly #clock: Clock;
  readonly #lifetimeMs: number;

  /** A call whose client does not answer for as long as `lifetimeMs` is cancelled. */
  constructor(clock: Clock, lifetimeMs: number) {
    this.#clock = clock;
    this.#lifetimeMs = lifetimeMs;
  }

  /** Runs one round of a call, which may be its first. */
  async run(call: FeatureCall, rounds: RoundRequester, relay: Relay): Promise<object> {
    const held = this.#resumed(call, rounds) ?? this.#begun(call, relay);
    try {
      return await held.round(call, rounds);
    } finally {
      if (held.isOver) this.#drop(held);
      else held.wait(this.#clock, this.#lifetimeMs);
    }
  }

  end(): void {
    for (const held of [...this.#held.values()]) {
      held.cancel();
      this.#drop(held);
    }
  }

  #begun(call: FeatureCall, relay: Relay): HeldCall {
    const caller = callerOf(call);
    const left = mostHeld - this.#held.size;
    const isCrowded = caller !== undefined && this.#shares.isUsedUp(caller, left, 0);
    if (left <= 0 || isCrowded) throw errorOf(serverBusy);
    const share = caller === undefined ? undefined : this.#shares.enter(caller);
    const held = new HeldCall(call, relay, share, () => this.#drop(held));
    this.#held.set(held.id, held);
    return held;
  }

  #drop(held: HeldCall): void {
    if (this.#held.delete(held.id) && held.share !== undefined) this.#shares.leave(held.share, 0);
  }

  #resumed({ method, principal }: FeatureCall, { answers }: RoundRequester): HeldCall | undefined {
    const ids = Object.keys(answers).flatMap((key) => keyForm.exec(key)?.[1] ?? []);
    const id = ids.at(-1);
    if (id === undefined) return undefined;
    const held = this.#held.get(id);
    if (held === undefined || held.method !== method || held.principal !== principal?.id) {
      throw invalidArguments("the call that these answers belong to has ended; call again");
    }
    return held;
  }
}

/** Whose share of the calls it takes; undefined if nothing is known of the client. */
function callerOf({ principal, transport }: FeatureCall): string | undefined {
  if (principal !== undefined) return `principal ${principal.id}`;
  return transport.remoteAddress && networkOf(transport.remoteAddress);
}

class HeldCall implements RelayedCall {
  readonly id: string = crypto.randomUUID();
  readonly method: string;
  readonly principal: string | undefined;
  readonly share: Share | undefined;
  call: FeatureCall | undefined;
  prev: RelayedCall | undefined = undefined;
  next: RelayedCall | undefined = undefined;
  readonly #controller = new AbortController();
  readonly ending: Ending = { signal: this.#controller.signal };
  readonly #questions = new Map<string, Question>();
  readonly #forget: () => void;
  #count = 0;
  #outcome: Promise<object> | undefined;
  #wake: () => void = () => {};
  #timer: Timer | undefined;

  constructor(call: FeatureCall, relay: Relay, share: Share | undefined, forget: () => void) {
    this.method = call.method;
    this.principal = call.principal?.id;
    this.share = share;
    this.call = call;
    this.#forget = forget;
    const running = relay(this);
    const over = (): void => {
      this.#outcome = running;
      this.#questions.clear();
      this.#wake();
    };
    running.then(over, over);
  }

  get isOver(): boolean {
    return this.#outcome !== undefined;
  }

  ask(request: InputRequest): Promise<object> {
    const capabilities = this.call?.client.capabilities ?? {};
    const lacking = this.call && lackingCapability(request, capabilities);
    if (lacking !== undefined) return Promise.reject(missingCapability(lacking));
    return new Promise((resolve, reject) => {
      this.#questions.set(`${this.id}.${++this.#count}`, { request, resolve, reject });
      this.#wake();
    });
  }

  /** Takes the answers that the client sent, and waits for the result or the next questions. */
  async round(call: FeatureCall, rounds: RoundRequester): Promise<object> {
    this.#timer?.cancel();
    this.call = call;
    const { signal } = call;
    const cancel = (): void => this.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      for (const [key, question] of [...this.#questions]) {
        if (Object.hasOwn(rounds.answers, key)) this.#answer(key, question, rounds.answers[key]);
      }
      while (this.#outcome === undefined && this.#questions.size === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      if (this.#outcome !== undefined) return await this.#outcome;
      // They go out with the reply to this round.
      for (const [key, { request }] of this.#questions) rounds.ask(request, key).catch(() => {});
      return {};
    } finally {
      signal.removeEventListener("abort", cancel);
      this.call = undefined;
    }
  }

  wait(clock: Clock, lifetimeMs: number): void {
    this.#timer = clock.after(lifetimeMs, () => {
      this.cancel();
      this.#forget();
    });
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#controller.abort();
    for (const { reject } of this.#questions.values()) reject(this.#controller.signal.reason);
    this.#questions.clear();
  }

  #answer(key: string, { request, resolve, reject }: Question, answer: unknown): void {
    this.#questions.delete(key);
    try {
      resolve(checkedAnswer(request, answer));
    } catch (error) {
      reject(error);
    }
  }
}
