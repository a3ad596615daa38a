import { endedEarly, isEventStream, wireErrorOf } from "../../../http/client-exchange.ts";
import { EventStreamDecoder } from "../../../http/event-stream.ts";
import type { Clock } from "../../../protocol/clock.ts";
import { WireError } from "../../../protocol/errors.ts";
import { reportedAs } from "../../../protocol/retry-rule.ts";
import { pause } from "../../../protocol/waiting.ts";
import { type HttpResponse, type HttpSender, isSuccess } from "./http-sender.ts";

export interface ResumeOptions {
  /** Most attempts in a row to resume a broken stream without receiving a new event. @default 5 */
  readonly maxResumes?: number | undefined;
  /** Replaces the system clock, for tests. */
  readonly clock?: Clock | undefined;
}

/** Least retry delay; stops a server that sends `retry: 0` from causing a busy loop. */
const leastRetryMs = 20;

/** The data of the events in a response. */
export async function* eventsOf(
  { chunks }: HttpResponse,
  decoder: EventStreamDecoder,
): AsyncGenerator<string, void, undefined> {
  for await (const chunk of chunks) {
    const events: string[] = [];
    decoder.push(chunk, ({ data }) => events.push(data));
    yield* events;
  }
}

/**
 * The messages of one event stream, over as many connections as needed. If its events have ids, a
 * broken stream is resumed after the last one that arrived.
 */
export async function* resumableEvents(
  first: HttpResponse,
  sender: HttpSender,
  sessionHeaders: () => Readonly<Record<string, string>>,
  signal: AbortSignal,
  { maxResumes = 5, clock }: ResumeOptions,
  /** Called when the stream broke, and may be resumed. */
  onLost: (lost: WireError) => void = () => {},
): AsyncGenerator<string, void, undefined> {
  let response = first;
  let lastId = "";
  let failures = 0;
  let retryMs = 1_000;
  for (;;) {
    const decoder = new EventStreamDecoder(sender.maxReplyBytes, lastId);
    let lost: WireError;
    try {
      // An empty event only carries an id to resume from.
      for await (const data of eventsOf(response, decoder)) if (data !== "") yield data;
      lost = endedEarly();
    } catch (error) {
      lost = wireErrorOf(error);
    }
    if (signal.aborted || lost.code === "BAD_REPLY" || decoder.lastId === "") throw lost;
    onLost(lost);
    failures = decoder.lastId === lastId ? failures + 1 : 1;
    lastId = decoder.lastId;
    retryMs = Math.max(decoder.retryMs ?? retryMs, leastRetryMs);
    for (;;) {
      if (failures > maxResumes) throw lost;
      await pause(retryMs * Math.max(1, failures), clock, signal);
      if (signal.aborted) throw lost;
      try {
        response = await sender.send({
          method: "GET",
          headers: { accept: "text/event-stream", "last-event-id": lastId, ...sessionHeaders() },
          signal,
          beside: true,
        });
        if (isSuccess(response) && isEventStream(response.header("content-type"))) break;
        await response.discard();
        lost = notResumed(response.status);
        if (response.status < 500) throw lost;
      } catch (error) {
        // The server has accepted the request, even if its stream cannot be resumed.
        lost = reportedAs("CONNECTION_LOST", wireErrorOf(error)) as WireError;
        if (lost.status !== undefined && lost.status < 500) throw lost;
      }
      failures++;
    }
  }
}

function notResumed(status: number): WireError {
  const sentence = "the connection was lost and the server could not resume the stream";
  return new WireError("CONNECTION_LOST", sentence, { status });
}
