import type { Channel, ChannelListener } from "../../../connection/channel.ts";
import { Connection } from "../../../connection/connection.ts";
import { isEventStream, wireErrorOf } from "../../../http/client-exchange.ts";
import { EventStreamDecoder } from "../../../http/event-stream.ts";
import { type Clock, systemClock } from "../../../protocol/clock.ts";
import { WireError } from "../../../protocol/errors.ts";
import { badReply } from "../../../protocol/pair.ts";
import { settledOrTimeout } from "../../../protocol/waiting.ts";
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
  return new Connection(httpSseChannel(events, sender.at(target.href), controller, clock), {
    service: end.service,
    log: end.log,
    transport: { kind: "http", headers: {}, remoteAddress: undefined },
    notices: end.notices,
    tap: sender.tap,
  });
}

function httpSseChannel(
  events: AsyncGenerator<string, void>,
  target: HttpSender,
  controller: AbortController,
  clock: Clock,
): Channel {
  const { signal } = controller;
  let listener: ChannelListener | undefined;
  /** Messages are posted one at a time, so that they arrive in order. */
  let sending: Promise<void> = Promise.resolve();
  const over = (error?: WireError): void => {
    const ended = listener;
    listener = undefined;
    controller.abort();
    ended?.end(error);
  };
  const post = async (body: string): Promise<void> => {
    const headers = { "content-type": "application/json" };
    const response = await target.send({ method: "POST", headers, body, signal });
    await response.discard();
    if (!isSuccess(response)) {
      const { status } = response;
      throw new WireError("HTTP_STATUS", `the server responded with status ${status}`, { status });
    }
  };
  const read = async (): Promise<void> => {
    try {
      for await (const text of events) listener?.message(text);
      over(new WireError("CONNECTION_LOST", "the event stream ended"));
    } catch (error) {
      over(wireErrorOf(error));
    }
  };
  const channel = {
    bufferedBytes: 0,
    listen(added: ChannelListener): void {
      listener = added;
      void read();
    },
    send(text: string): void {
      channel.bufferedBytes += text.length;
      sending = sending
        .then(() => post(text))
        .catch((error: unknown) => over(wireErrorOf(error)))
        .finally(() => {
          channel.bufferedBytes -= text.length;
          if (channel.bufferedBytes === 0) listener?.drain();
        });
    },
    close(): void {
      void settledOrTimeout(clock, goodbyeMs, sending).then(() => over());
    },
  };
  return channel;
}
