import type { Channel, ChannelListener } from "callwire/connection";

export type Side = "client" | "server";

/** A message on its way, or the end of the connection. */
type Event = { readonly text: string } | { readonly end: Error | undefined };

/** Items that arrive together, so that a stream or an upload does not multiply the interleavings. */
const itemsAtOnce = 32;

const itemStarts = ["$/stream", "$/upload"].map((name) => `{"jsonrpc":"2.0","method":"${name}"`);

/** A connection in memory; its messages arrive when the explorer says so, or never. */
export class ControlledWire {
  readonly #ends: Record<Side, End>;
  #lost = false;

  constructor(sent: (from: Side, text: string) => void) {
    const client: End = new End(
      (event) => this.#travel("client", event),
      (text) => sent("client", text),
    );
    const server: End = new End(
      (event) => this.#travel("server", event),
      (text) => sent("server", text),
    );
    this.#ends = { client, server };
  }

  channel(side: Side): Channel {
    return this.#ends[side];
  }

  /** Messages and closes that `side` has not received. */
  waitingFor(side: Side): readonly Event[] {
    return this.#ends[side].arriving;
  }

  get isLost(): boolean {
    return this.#lost;
  }

  /** Whether both sides know that it is closed. */
  get isOver(): boolean {
    return this.#ends.client.ended && this.#ends.server.ended;
  }

  /** The next message arrives, or the next items of a stream. */
  deliver(to: Side): void {
    const end = this.#ends[to];
    let count = 1;
    while (count < itemsAtOnce && isItem(end.arriving[count - 1]) && isItem(end.arriving[count]))
      count++;
    for (const event of end.arriving.splice(0, count)) {
      end.receive(event);
      // The other side closed: this one closes too, after what it has sent.
      if ("end" in event) end.close();
    }
  }

  /** Everything that has not arrived is lost; each side learns that when its next event is delivered. */
  lose(): void {
    this.#lost = true;
    for (const end of Object.values(this.#ends)) {
      end.arriving.length = 0;
      if (!end.ended) end.arriving.push({ end: new Error("the connection was reset") });
    }
  }

  #travel(from: Side, event: Event): void {
    const to = this.#ends[from === "client" ? "server" : "client"];
    if (!this.#lost && !to.ended) to.arriving.push(event);
  }
}

function isItem(event: Event | undefined): boolean {
  return (
    event !== undefined &&
    "text" in event &&
    itemStarts.some((start) => event.text.startsWith(start))
  );
}

class End implements Channel {
  readonly arriving: Event[] = [];
  readonly bufferedBytes = 0;
  readonly #travel: (event: Event) => void;
  readonly #sent: (text: string) => void;
  #listener: ChannelListener | undefined;
  #closed = false;
  ended = false;

  constructor(travel: (event: Event) => void, sent: (text: string) => void) {
    this.#travel = travel;
    this.#sent = sent;
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
  }

  send(text: string): void {
    if (this.#closed) return;
    this.#sent(text);
    this.#travel({ text });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#travel({ end: undefined });
  }

  receive(event: Event): void {
    if (this.ended) return;
    if ("text" in event) this.#listener?.message(event.text);
    else {
      this.ended = true;
      this.#listener?.end(event.end);
    }
  }
}
