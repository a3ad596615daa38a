import { systemClock } from "../protocol/clock.ts";
import { isEnvelope } from "../protocol/envelope.ts";
import type { Log } from "../protocol/log.ts";
import { isThenable } from "../protocol/message.ts";
import type { Origin } from "../protocol/origin.ts";
import type { Seal, Unsealed } from "../protocol/seal.ts";
import { internalError, serverBusy } from "../protocol/standard-errors.ts";
import { withTimeout } from "../protocol/waiting.ts";
import type { Channel, ChannelFault, ChannelListener, CloseReason } from "./channel.ts";

/**
 * Most characters that may wait for an earlier message to be opened; more are refused, so that they cannot fill
 * memory.
 */
const maxWaitingLength = 4 * 1024 * 1024;
/** This many may wait, however long. */
const alwaysWaiting = 16;
/** Most messages that may wait, however short: each takes more memory than its length. */
const maxWaiting = 1_000;
/** How long a closed channel waits for earlier messages to be opened. */
const openingMs = 5_000;

/** A channel that seals outgoing messages and opens incoming ones in order. */
export class SealedChannel implements Channel, ChannelListener {
  readonly #channel: Channel;
  readonly #seal: Seal;
  readonly #origin: Origin;
  readonly #log: Log;
  #listener: ChannelListener | undefined;
  /** Resolves when all earlier messages were delivered. */
  #before: Promise<void> | undefined;
  #waiting = 0;
  #waitingLength = 0;
  #paused = false;
  readonly pause: (() => void) | undefined;
  readonly resume: (() => void) | undefined;

  constructor(channel: Channel, seal: Seal, origin: Origin, log: Log) {
    this.#channel = channel;
    this.#seal = seal;
    this.#origin = origin;
    this.#log = log;
    if (channel.pause === undefined) return;
    this.pause = () => this.#setPaused(true);
    this.resume = () => this.#setPaused(false);
  }

  send(text: string): void {
    this.#channel.send(this.#seal.seal(text));
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
    this.#channel.listen(this);
  }

  get bufferedBytes(): number {
    return this.#channel.bufferedBytes;
  }

  get arrivingBytes(): number {
    return this.#channel.arrivingBytes ?? 0;
  }

  get holds(): boolean {
    return this.#channel.holds === true;
  }

  close(reason?: CloseReason): void {
    this.#channel.close(reason);
  }

  message(text: string): void {
    if (this.#before !== undefined) {
      if (this.#isFull) this.#deliver({ error: serverBusy });
      else this.#later(text, () => this.#opened(text));
      return;
    }
    const opened = this.#opened(text);
    if (opened instanceof Promise) this.#later(text, () => opened);
    else this.#deliver(opened);
  }

  fault(fault: ChannelFault): void {
    this.#listener?.fault(fault);
  }

  arriving(bytes: number): void {
    this.#listener?.arriving?.(bytes);
  }

  drain(): void {
    this.#listener?.drain();
  }

  end(error?: Error): void {
    const end = (): void => this.#listener?.end(error);
    // The last reply may still wait for a key; one that never comes must not delay the close.
    if (this.#before === undefined) end();
    else void withTimeout(systemClock, openingMs, this.#before, "no key").then(end, end);
  }

  #opened(text: string): string | Unsealed | Promise<string | Unsealed> {
    try {
      const opened = this.#seal.open(text, this.#origin);
      if (!isThenable(opened)) return opened;
      return Promise.resolve(opened).catch((error: unknown) => this.#failed(error));
    } catch (error) {
      return this.#failed(error);
    }
  }

  #failed(error: unknown): Unsealed {
    this.#log.error({ err: error }, "opening a sealed message failed");
    return { error: internalError };
  }

  get #isFull(): boolean {
    if (this.#waiting < alwaysWaiting) return false;
    return this.#waiting >= maxWaiting || this.#waitingLength >= maxWaitingLength;
  }

  #setPaused(paused: boolean): void {
    this.#paused = paused;
    // It stays paused while a message waits for its key.
    if (this.#waiting > 0) return;
    if (paused) this.#channel.pause?.();
    else this.#channel.resume?.();
  }

  #later({ length }: string, open: () => string | Unsealed | Promise<string | Unsealed>): void {
    if (this.#waiting === 0 && !this.#paused) this.#channel.pause?.();
    this.#waiting++;
    this.#waitingLength += length;
    const before = this.#before ?? Promise.resolve();
    const own = before.then(open).then((opened) => {
      this.#waiting--;
      this.#waitingLength -= length;
      if (this.#before === own) this.#before = undefined;
      this.#deliver(opened);
      if (this.#waiting === 0 && !this.#paused) this.#channel.resume?.();
    });
    this.#before = own;
  }

  #deliver(opened: string | Unsealed): void {
    if (typeof opened === "string") {
      this.#listener?.message(opened);
      return;
    }
    const { error, message } = opened;
    this.#listener?.fault({
      kind: "refused",
      message: `a message was refused: ${error.message}`,
      error,
      call: message === undefined ? undefined : callIn(message),
    });
  }
}

/** The call in a refused message, for the error only. */
function callIn(text: string): { readonly id: unknown } | undefined {
  try {
    const message: unknown = JSON.parse(text);
    return isEnvelope(message) && message.method !== undefined ? { id: message.id } : undefined;
  } catch {
    return undefined;
  }
}
