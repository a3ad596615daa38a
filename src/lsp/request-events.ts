import { WireError } from "../protocol/errors.ts";

/** Most events that wait for a reader; stops a server that sends more than is read from filling memory. */
const mostEvents = 65_536;

/** What a server sends before the result of a request, as an async iterable that ends with the result. */
export class RequestEvents<Event, Result> implements AsyncIterable<Event> {
  /** The result; what was sent as parts is not repeated in it. */
  readonly result: Promise<Result>;
  readonly #abort: (reason: unknown) => void;
  #events: Event[] = [];
  #wake: (() => void) | undefined;
  #isOver = false;

  /** `abort` cancels the request. */
  constructor(result: Promise<Result>, abort: (reason: unknown) => void) {
    this.result = result;
    this.#abort = abort;
    const over = (): void => {
      this.#isOver = true;
      this.#wake?.();
    };
    // The reader gets the failure even if the result is not awaited.
    result.then(over, over);
  }

  /** Internal. */
  push(event: Event): void {
    if (this.#isOver) return;
    if (this.#events.push(event) > mostEvents) {
      this.#events = [];
      this.#abort(
        new WireError("TOO_LARGE", `more than ${mostEvents} events wait for their reader`),
      );
    }
    this.#wake?.();
  }

  /** Leaving the loop early cancels the request. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void> {
    try {
      for (;;) {
        const events = this.#events;
        this.#events = [];
        yield* events;
        if (this.#events.length > 0) continue;
        if (this.#isOver) break;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      await this.result;
    } finally {
      if (!this.#isOver) this.#abort(undefined);
    }
  }
}
