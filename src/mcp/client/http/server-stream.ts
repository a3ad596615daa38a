import { isEventStream, wireErrorOf } from "../../../http/client-exchange.ts";
import type { Log } from "../../../protocol/log.ts";
import { pause } from "../../../protocol/waiting.ts";
import { lostStatuses } from "../handshake.ts";
import { longestRetryMs } from "../retry-waits.ts";
import { type HttpSender, isSuccess } from "./http-sender.ts";
import { type ResumeOptions, resumableEvents } from "./resumable-events.ts";

export interface ServerStreamOptions extends ResumeOptions {
  readonly sessionHeaders: () => Readonly<Record<string, string>>;
  /** Returns a promise if the next message must wait. */
  readonly receive: (text: string) => Promise<void> | undefined;
  /** Called when messages may have been missed. */
  readonly gap: () => void;
  /** Called when the session of the stream is gone. */
  readonly forgotten: () => void;
  readonly log: Log;
}

const retryMs = 1_000;
/** Some servers respond only with their first message, so callers wait for the stream no longer than this. */
const patienceMs = 1_000;

/** The stream for messages of a legacy server that belong to no request. */
export class ServerStream {
  /** Resolves when the server has responded, or takes too long. */
  readonly listening: Promise<void>;
  readonly #controller = new AbortController();
  readonly #responded = new AbortController();
  #isLate = false;

  constructor(sender: HttpSender, options: ServerStreamOptions) {
    const over = AbortSignal.any([this.#responded.signal, this.#controller.signal]);
    this.listening = pause(patienceMs, options.clock, over).then(() => {
      this.#isLate = !over.aborted;
    });
    void this.#listen(sender, options).finally(() => this.#responded.abort());
  }

  close(): void {
    this.#controller.abort();
  }

  async #listen(sender: HttpSender, options: ServerStreamOptions): Promise<void> {
    const { signal } = this.#controller;
    const { maxResumes = 5, sessionHeaders, receive, gap, forgotten, clock, log } = options;
    let wasOpen = false;
    // A server that had such a stream before will have one again after any downtime.
    for (let failures = 0; (wasOpen || failures <= maxResumes) && !signal.aborted; failures++) {
      try {
        const headers = { accept: "text/event-stream", ...sessionHeaders() };
        const response = await sender.send({ method: "GET", headers, signal });
        this.#responded.abort();
        if (!isSuccess(response) || !isEventStream(response.header("content-type"))) {
          await response.discard();
          // A first refusal only means that there is no such stream; a later one that the session is gone. A later 409
          // means that the server has not yet noticed the loss of the old stream.
          const isAgain = wasOpen || failures > 0;
          const isTaken = response.status === 409 && isAgain;
          const isGone = isAgain && lostStatuses.includes(response.status);
          if (isGone && !signal.aborted) forgotten();
          if (response.status < 500 && !isTaken) return;
        } else {
          if (wasOpen || this.#isLate) gap();
          wasOpen = true;
          for await (const text of resumableEvents(
            response,
            sender,
            sessionHeaders,
            signal,
            options,
          )) {
            failures = 0;
            await receive(text);
          }
        }
      } catch (error) {
        const { code, status } = wireErrorOf(error);
        // A stream that cannot be resumed may be opened again.
        const isRefused = code !== "CONNECTION_LOST" && status !== undefined && status < 500;
        if (signal.aborted || isRefused) return;
      }
      await pause(Math.min(retryMs * 2 ** failures, longestRetryMs), clock, signal);
    }
    if (!signal.aborted)
      log.warn({ url: sender.url }, "gave up on the event stream of an MCP server");
  }
}
