import { randomBytes } from "node:crypto";
import type { Peer } from "callwire";

/** Starts a subscription, and returns a function that ends it. */
type Source = (push: (result: object) => void) => () => void;

/** Active subscriptions; each push is an `eth_subscription` notification to one peer. */
export class Subscriptions {
  readonly #source: Source;
  readonly #peers = new Map<Peer, Map<string, () => void>>();

  constructor(source: Source) {
    this.#source = source;
  }

  add(peer: Peer): string {
    const subscription = `0x${randomBytes(16).toString("hex")}`;
    const stop = this.#source((result) =>
      peer.notify("eth_subscription", { subscription, result }),
    );
    this.#of(peer).set(subscription, stop);
    return subscription;
  }

  /** A peer can end only its own subscriptions. */
  remove(peer: Peer, subscription: string): boolean {
    const own = this.#peers.get(peer);
    own?.get(subscription)?.();
    return own?.delete(subscription) ?? false;
  }

  #of(peer: Peer): Map<string, () => void> {
    const known = this.#peers.get(peer);
    if (known !== undefined) return known;
    const own = new Map<string, () => void>();
    this.#peers.set(peer, own);
    void peer.closed.then(() => {
      for (const stop of own.values()) stop();
      this.#peers.delete(peer);
    });
    return own;
  }
}
