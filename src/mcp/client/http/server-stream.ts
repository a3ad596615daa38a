import { isEventStream, wireErrorOf } from "../../../http/client-exchange.ts";
import type { Log } from "../../../protocol/log.ts";
import { longestRetryMs, pause } from "../pause.ts";
import type { Carrier } from "./carrier.ts";
import { isSuccess } from "./http-answer.ts";
import { type ResumeOptions, resumableEvents } from "./resumable-events.ts";

export interface ServerStreamOptions extends ResumeOptions {
  readonly sessionHeaders: () => Readonly<Record<string, string>>;
  readonly receive: (text: string) => void;
  /** Hears that something may have been said while nobody listened. */
  readonly gap: () => void;
  /** Hears that the session of the stream is gone. */
  readonly forgotten: () => void;
  readonly log: Log;
}

const retryMs = 1_000;
/** Some servers answer only when they have something to say; whoever waits for the stream waits no longer than this. */
const patienceMs = 1_000;

/** The stream of the legacy era for what a server says outside of any request. */
export class ServerStream {
  /** Resolves when the server has answered, from when on what it says is heard, or when it takes its time. */
  readonly listening: Promise<void>;
  readonly #controller = new AbortController();
  readonly #answered = new AbortController();
  #isLate = false;

  constructor(carrier: Carrier, options: ServerStreamOptions) {
    const over = AbortSignal.any([this.#answered.signal, this.#controller.signal]);
    this.listening = pause(patienceMs, options.clock, over).then(() => {
      this.#isLate = !over.aborted;
    });
    void this.#listen(carrier, options).finally(() => this.#answered.abort());
  }

  close(): void {
    this.#controller.abort();
  }

  async #listen(carrier: Carrier, options: ServerStreamOptions): Promise<void> {
    const { signal } = this.#controller;
    const { maxResumes = 5, sessionHeaders, receive, gap, forgotten, clock, log } = options;
    let wasOpen = false;
    // A server that has had such a stream will have one again, however long it is away.
    for (let failures = 0; (wasOpen || failures <= maxResumes) && !signal.aborted; failures++) {
      try {
        const headers = { accept: "text/event-stream", ...sessionHeaders() };
        const response = await carrier.send({ method: "GET", headers, signal });
        this.#answered.abort();
        if (!isSuccess(response) || !isEventStream(response.header("content-type"))) {
          await response.discard();
          // A server that has no such stream, or no such session any more, says so for good. One that has not heard
          // yet that the old stream is gone does not.
          // At the first time of asking, it may mean no more than that there is no such stream.
          const isAgain = wasOpen || failures > 0;
          const isTaken = response.status === 409 && isAgain;
          const isGone = response.status === 404 && isAgain;
          if (isGone && !signal.aborted) forgotten();
          if (response.status < 500 && !isTaken) return;
        } else {
          if (wasOpen || this.#isLate) gap();
          wasOpen = true;
          for await (const text of resumableEvents(
            response,
            carrier,
            sessionHeaders,
            signal,
            options,
          )) {
            failures = 0;
            receive(text);
          }
        }
      } catch (error) {
        const { code, status } = wireErrorOf(error);
        // What cannot be resumed may be begun anew.
        const isRefused = code !== "CONNECTION_LOST" && status !== undefined && status < 500;
        if (signal.aborted || isRefused) return;
      }
      await pause(Math.min(retryMs * 2 ** failures, longestRetryMs), clock, signal);
    }
    if (!signal.aborted) log.warn({ url: carrier.url }, "gave up on the stream of an MCP server");
  }
}
