import type { Channel, ChannelListener } from "../../../connection/channel.ts";
import { Connection } from "../../../connection/connection.ts";
import { isEventStream, wireErrorOf } from "../../../http/client-exchange.ts";
import { EventStreamDecoder } from "../../../http/event-stream.ts";
import { type Clock, doneWithin, systemClock } from "../../../protocol/clock.ts";
import { WireError } from "../../../protocol/errors.ts";
import { badReply } from "../../../protocol/pair.ts";
import type { ClientEnd } from "../wire.ts";
import type { Carrier } from "./carrier.ts";
import { type HttpAnswer, isSuccess } from "./http-answer.ts";

/** How long what was sent may take to arrive when the channel closes. */
const goodbyeMs = 2_000;

/** The transport of 2024-11-05: what the server says comes as events, what it hears is posted. `controller` ends both. */
export async function connectHttpSse(
  carrier: Carrier,
  end: ClientEnd,
  controller: AbortController,
  clock: Clock = systemClock,
): Promise<Connection> {
  const response = await carrier.send({
    method: "GET",
    headers: { accept: "text/event-stream" },
    signal: controller.signal,
  });
  if (!isSuccess(response) || !isEventStream(response.header("content-type"))) {
    await response.discard();
    throw new WireError("HTTP_STATUS", `no events, but the status ${response.status}`, {
      status: response.status,
    });
  }
  const events = eventsOf(response, carrier);
  const { value: endpoint, done } = await events.next();
  if (done) throw badReply("the stream ended before it named its endpoint");
  const target = new URL(endpoint, carrier.url);
  // Whoever can name another origin could have the client's token sent there.
  if (target.origin !== new URL(carrier.url).origin) {
    controller.abort();
    throw badReply("the endpoint lies on another server");
  }
  return new Connection(new HttpSseChannel(events, carrier.at(target.href), controller, clock), {
    service: end.service,
    log: end.log,
    transport: { kind: "http", headers: {}, remoteAddress: undefined },
    notices: end.notices,
    tap: carrier.tap,
  });
}

async function* eventsOf(response: HttpAnswer, carrier: Carrier): AsyncGenerator<string, void> {
  const decoder = new EventStreamDecoder(carrier.maxReplyBytes);
  for await (const chunk of response.chunks) {
    const events: string[] = [];
    decoder.push(chunk, ({ data }) => events.push(data));
    yield* events;
  }
}

class HttpSseChannel implements Channel {
  bufferedBytes = 0;
  readonly #events: AsyncGenerator<string, void>;
  readonly #target: Carrier;
  readonly #controller: AbortController;
  readonly #clock: Clock;
  #listener: ChannelListener | undefined;
  /** Messages are posted one after the other, so that they arrive in order. */
  #sending: Promise<void> = Promise.resolve();

  constructor(
    events: AsyncGenerator<string, void>,
    target: Carrier,
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
      throw new WireError("HTTP_STATUS", `the server answered with the status ${response.status}`, {
        status: response.status,
      });
    }
  }

  async #read(): Promise<void> {
    try {
      for await (const text of this.#events) this.#listener?.message(text);
      this.#over(new WireError("CONNECTION_LOST", "the stream of events ended"));
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
