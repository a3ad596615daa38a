import { endedEarly, isEventStream, wireErrorOf } from "../../../http/client-exchange.ts";
import { EventStreamDecoder } from "../../../http/event-stream.ts";
import type { Clock } from "../../../protocol/clock.ts";
import { WireError } from "../../../protocol/errors.ts";
import { pause } from "../pause.ts";
import type { Carrier } from "./carrier.ts";
import { type HttpAnswer, isSuccess } from "./http-answer.ts";

export interface ResumeOptions {
  /** How often in a row a cut stream is asked for again without hearing anything new. @default 5 */
  readonly maxResumes?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** A server that says "at once", again and again, would keep its client busy with nothing. */
const leastRetryMs = 20;

/**
 * The messages of one stream of events, over as many connections as it takes. A stream whose
 * events have ids is asked for again from the last one that arrived.
 */
export async function* resumableEvents(
  first: HttpAnswer,
  carrier: Carrier,
  sessionHeaders: () => Readonly<Record<string, string>>,
  signal: AbortSignal,
  { maxResumes = 5, clock }: ResumeOptions,
): AsyncGenerator<string, void, undefined> {
  let response = first;
  let heard = "";
  let failures = 0;
  let retryMs = 1_000;
  for (;;) {
    const decoder = new EventStreamDecoder(carrier.maxReplyBytes, heard);
    let lost: WireError;
    try {
      for await (const chunk of response.chunks) {
        const events: string[] = [];
        decoder.push(chunk, ({ data }) => events.push(data));
        // An empty one only brings an id to go on from.
        for (const data of events) if (data !== "") yield data;
      }
      lost = endedEarly();
    } catch (error) {
      lost = wireErrorOf(error);
    }
    if (signal.aborted || lost.code === "BAD_REPLY" || decoder.lastId === "") throw lost;
    failures = decoder.lastId === heard ? failures + 1 : 1;
    heard = decoder.lastId;
    retryMs = Math.max(decoder.retryMs ?? retryMs, leastRetryMs);
    for (;;) {
      if (failures > maxResumes) throw lost;
      await pause(retryMs * Math.max(1, failures), clock, signal);
      if (signal.aborted) throw lost;
      try {
        response = await carrier.send({
          method: "GET",
          headers: { accept: "text/event-stream", "last-event-id": heard, ...sessionHeaders() },
          signal,
          beside: true,
        });
        if (isSuccess(response) && isEventStream(response.header("content-type"))) break;
        await response.discard();
        lost = notResumed(response.status);
        if (response.status < 500) throw lost;
      } catch (error) {
        lost = wireErrorOf(error);
        if (lost.status !== undefined && lost.status < 500) throw lost;
      }
      failures++;
    }
  }
}

function notResumed(status: number): WireError {
  const sentence = "the connection broke and the server has no more of the stream";
  return new WireError("CONNECTION_LOST", sentence, { status });
}
