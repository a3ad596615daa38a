import type { Channel, ChannelListener, CloseReason } from "callwire/connection";

/** A channel whose peer is the test. */
export class HandChannel implements Channel {
  readonly sent: string[] = [];
  bufferedBytes = 0;
  closedFor: CloseReason | undefined;
  /** Whether closing also calls the listener, as on a wire that is up. */
  endsWhenClosed = true;
  #listener: ChannelListener | undefined;

  get listener(): ChannelListener {
    if (this.#listener === undefined) throw new Error("nobody listens");
    return this.#listener;
  }

  /** What was sent, parsed. */
  get messages(): Record<string, unknown>[] {
    return this.sent.map((text) => JSON.parse(text) as Record<string, unknown>);
  }

  /** The ids of the requests that were sent. */
  get ids(): unknown[] {
    return this.messages
      .flatMap((message) => (Array.isArray(message) ? message : [message]))
      .map(({ id }) => id);
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
  }

  send(text: string): void {
    this.sent.push(text);
  }

  close(reason: CloseReason = "done"): void {
    this.closedFor ??= reason;
    if (this.endsWhenClosed) queueMicrotask(() => this.listener.end());
  }

  /** A message arrives: a string unchanged, anything else as JSON. */
  hear(message: unknown): void {
    this.listener.message(typeof message === "string" ? message : JSON.stringify(message));
  }
}

/** A channel that can make the test wait, and says whether it does. */
export class PausingChannel extends HandChannel {
  paused = false;

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }
}

export const transport = { kind: "hand", headers: {}, remoteAddress: undefined };
