import type { Service } from "../protocol/service.ts";
import type { Channel, ChannelListener } from "./channel.ts";
import { Connection } from "./connection.ts";

class MemoryChannel implements Channel {
  #listener: ChannelListener | undefined;
  #other: MemoryChannel | undefined;
  #outbox: (string | Uint8Array)[] = [];
  #open = true;
  /** The other channel always reads, so that nothing waits for longer than a turn. */
  readonly bufferedBytes = 0;

  joinTo(other: MemoryChannel): void {
    this.#other = other;
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
  }

  send(text: string): void {
    this.#put(text);
  }

  sendBytes(frame: Uint8Array): void {
    this.#put(frame);
  }

  close(): void {
    if (!this.#open) return;
    this.#deliver();
    this.#open = false;
    queueMicrotask(() => {
      this.#listener?.end();
      this.#other?.close();
    });
  }

  receive(sent: string | Uint8Array): void {
    if (typeof sent === "string") this.#listener?.message(sent);
    else this.#listener?.bytes?.(sent);
  }

  #put(sent: string | Uint8Array): void {
    if (!this.#open) return;
    this.#outbox.push(sent);
    // Never delivered synchronously, as on a real wire.
    if (this.#outbox.length === 1) queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    const sent = this.#outbox;
    this.#outbox = [];
    for (const each of sent) this.#other?.receive(each);
    if (sent.length > 0) this.#listener?.drain();
  }
}

/**
 * Two channels joined in memory: each receives what the other sends.
 * @example
 * ```ts
 * import { Connection, memoryChannels } from "callwire/connection";
 *
 * const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
 * const [left, right] = memoryChannels();
 * new Connection(right, { transport, service: server });
 * console.log(await new Connection(left, { transport }).call("echo", ["hi"]));
 * ```
 */
export function memoryChannels(): [Channel, Channel] {
  const left = new MemoryChannel();
  const right = new MemoryChannel();
  left.joinTo(right);
  right.joinTo(left);
  return [left, right];
}

/**
 * Two connections joined in memory, each answering with its own service.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { memoryPair } from "callwire/connection";
 *
 * // A test calls its server without a port.
 * const [near] = memoryPair(undefined, server);
 * const client = createClient<typeof methods>(near);
 * console.log(await client.api.math.add({ a: 2, b: 3 }));
 * ```
 */
export function memoryPair(left?: Service, right?: Service): [Connection, Connection] {
  const [a, b] = memoryChannels();
  const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
  return [
    new Connection(a, { service: left, transport }),
    new Connection(b, { service: right, transport }),
  ];
}
