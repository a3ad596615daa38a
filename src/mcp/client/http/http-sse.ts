import type { Channel, ChannelListener } from "../../../connection/channel.ts";
import { Connection } from "../../../connection/connection.ts";
import { EventStreamDecoder } from "../../../framing/event-stream.ts";
import { isEventStream, wireErrorOf } from "../../../framing/http-exchange.ts";
import { type Clock, doneWithin, systemClock } from "../../../protocol/clock.ts";
import { WireError } from "../../../protocol/errors.ts";
import { badReply } from "../../../protocol/pair.ts";
import type { ClientEnd } from "../wire.ts";
import { type HttpSender, isSuccess } from "./http-sender.ts";
import { eventsOf } from "./resumable-events.ts";

/** How long to wait on close for messages that are still being sent. */
const goodbyeMs = 2_000;

/** The transport of 2024-11-05: an event stream from the server, and POSTs to it. `controller` ends both. */
export async function connectHttpSse(
  sender: HttpSender,
  end: ClientEnd,
  controller: AbortController,
  clock: Clock = systemClock,
): Promise<Connection> {
  const response = await sender.send({
    method: "GET",
    headers: { accept: "text/event-stream" },
    signal: controller.signal,
  });
  if (!isSuccess(response) || !isEventStream(response.header("content-type"))) {
    await response.discard();
    throw new WireError(
      "HTTP_STATUS",
      `expected an event stream, but got status ${response.status}`,
      {
        status: response.status,
      },
    );
  }
  const events = eventsOf(response, new EventStreamDecoder(sender.maxReplyBytes));
  const { value: endpoint, done } = await events.next();
  if (done) throw badReply("the event stream ended before it sent the endpoint");
  const target = new URL(endpoint, sender.url);
  // Another origin would receive the client's token.
  if (target.origin !== new URL(sender.url).origin) {
    controller.abort();
    throw badReply("the endpoint is on another origin");
  }
  return new Connection(new HttpSseChannel(events, sender.at(target.href), controller, clock), {
    service: end.service,
    log: end.log,
    transport: { kind: "http", headers: {}, remoteAddress: undefined },
    notices: end.notices,
    tap: sender.tap,
  });
}

class HttpSseChannel implements Channel {
  bufferedBytes = 0;
  readonly #events: AsyncGenerator<string, void>;
  readonly #target: HttpSender;
  readonly #controller: AbortController;
  readonly #clock: Clock;
  #listener: ChannelListener | undefined;
  /** Messages are posted one at a time, so that they arrive in order. */
  #sending: Promise<void> = Promise.resolve();

  constructor(
    events: AsyncGenerator<string, void>,
    target: HttpSender,
    controller: AbortController,
    clock: Clock,
  ) {
    this.#events = events;
    this.#target = target;
    this.#controller = controller;
    this.#clock = clock;
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
    void this.#read();
  }

  send(text: string): void {
    this.bufferedBytes += text.length;
    this.#sending = this.#sending
      .then(() => this.#post(text))
      .catch((error: unknown) => this.#over(wireErrorOf(error)))
      .finally(() => {
        this.bufferedBytes -= text.length;
        if (this.bufferedBytes === 0) this.#listener?.drain();
      });
  }

  close(): void {
    void doneWithin(this.#clock, goodbyeMs, this.#sending).then(() => this.#over());
  }

  async #post(body: string): Promise<void> {
    const response = await this.#target.send({
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      signal: this.#controller.signal,
    });
    await response.discard();
    if (!isSuccess(response)) {
      throw new WireError("HTTP_STATUS", `the server responded with status ${response.status}`, {
        status: response.status,
      });
    }
  }

  async #read(): Promise<void> {
    try {
      for await (const text of this.#events) this.#listener?.message(text);
      this.#over(new WireError("CONNECTION_LOST", "the event stream ended"));
    } catch (error) {
      this.#over(wireErrorOf(error));
    }
  }

  #over(error?: WireError): void {
    const listener = this.#listener;
    this.#listener = undefined;
    this.#controller.abort();
    listener?.end(error);
  }
}
