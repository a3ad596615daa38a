import type { Transform } from "node:stream";
import type { Dispatcher } from "undici";
import { codingOf } from "../../http/content-coding.ts";
import { inflaterOf } from "../../http/node-codings.ts";
import { badReply } from "../../protocol/pair.ts";

type Controller = Dispatcher.DispatchController;
type ResponseHandler = Required<
  Pick<
    Dispatcher.DispatchHandler,
    "onRequestStart" | "onResponseStart" | "onResponseData" | "onResponseEnd" | "onResponseError"
  >
>;

/**
 * Inflates the body of a response for the handler behind it, which limits what it gets and may pause it. The interceptor
 * of undici prints a warning that it is experimental.
 */
export class InflatingHandler implements Dispatcher.DispatchHandler {
  readonly #next: ResponseHandler;
  #inflater: Transform | undefined = undefined;
  #hasArrived = false;
  #isOver = false;

  constructor(next: ResponseHandler) {
    this.#next = next;
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#next.onRequestStart(controller, context);
  }

  onResponseStart(
    controller: Controller,
    status: number,
    headers: Record<string, string | string[] | undefined>,
    message?: string,
  ): void {
    const coding = codingOf(headers["content-encoding"]?.toString());
    if (coding !== undefined) this.#inflater = this.#inflate(coding, controller);
    this.#next.onResponseStart(controller, status, headers, message);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    const inflater = this.#inflater;
    if (inflater === undefined) this.#next.onResponseData(controller, chunk);
    else if (!inflater.write(chunk)) {
      controller.pause();
      inflater.once("drain", () => controller.resume());
    }
  }

  onResponseEnd(controller: Controller, trailers: Record<string, string | string[]>): void {
    if (this.#inflater === undefined) this.#next.onResponseEnd(controller, trailers);
    else {
      this.#hasArrived = true;
      this.#inflater.end();
    }
  }

  onResponseError(controller: Controller, error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#inflater?.destroy();
    this.#next.onResponseError(controller, error);
  }

  #inflate(coding: string, controller: Controller): Transform {
    const inflater = inflaterOf(coding);
    if (inflater === undefined) throw badReply(`the reply has the encoding "${coding}"`);
    // The response may have ended, so that undici reports nothing.
    const abort = (error: Error): void => {
      this.onResponseError(controller, error);
      controller.abort(error);
    };
    const own: Pick<Controller, "pause" | "resume" | "abort"> = {
      pause: () => void inflater.pause(),
      resume: () => void inflater.resume(),
      abort,
    };
    const attempt = (step: () => void): void => {
      try {
        step();
      } catch (error) {
        abort(error as Error);
      }
    };
    inflater.on("data", (chunk: Buffer) => {
      if (!this.#isOver) attempt(() => this.#next.onResponseData(own as Controller, chunk));
    });
    inflater.on("end", () => {
      // What follows the compressed data is never read, so the response would not end.
      if (!this.#hasArrived) abort(badReply("the reply has more bytes after its compressed data"));
      else attempt(() => this.#next.onResponseEnd(own as Controller, {}));
    });
    inflater.on("error", (cause) => abort(badReply("the reply cannot be inflated", { cause })));
    return inflater;
  }
}
