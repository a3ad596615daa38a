import type { Answer } from "../protocol/answer.ts";
import { parseText } from "../protocol/json-text.ts";
import type { AnswerReceiver } from "../protocol/later-answer.ts";
import type { Limits } from "../protocol/limits.ts";
import type { Log } from "../protocol/log.ts";
import type { Origin } from "../protocol/origin.ts";
import type { ServerRunning } from "../protocol/server-running.ts";

/** What a connection asks for the replies to the peer's messages. */
export interface CallAnswerer {
  /** Parses a payload of the peer; `unparsable` if it is not JSON. */
  parse(text: string, maxBatch: number): unknown;
  /** A promise if the reply goes to the receiver. */
  answerPayload(payload: unknown, text: string, origin: Origin, receiver: AnswerReceiver): Answer;
  tooLarge(origin: Origin): string | undefined;
  unreadable(origin: Origin, reason?: string): string | undefined;
  /** The same for a connection that finishes: it refuses all calls. */
  refusing(): CallAnswerer;
  /** Lets the calls of a connection finish for this long, and cancels the rest. */
  drain(origin: Origin, drainMs: number): Promise<void>;
}

export interface NoMethodsSettings {
  readonly running: ServerRunning;
  readonly limits: Limits;
  readonly log: Log;
}

/**
 * Answers every call with "Method not found", for clients without a service. Few servers call such a client, so the code
 * that answers is loaded with the first call: it would be a third of a web page's bundle.
 */
export class NoMethods implements CallAnswerer {
  readonly #settings: NoMethodsSettings;
  #answerer: Promise<Pick<CallAnswerer, "answerPayload">> | undefined;

  constructor(settings: NoMethodsSettings) {
    this.#settings = settings;
  }

  /** Replies need no check; calls are checked by the code that answers them. */
  parse(text: string): unknown {
    return parseText(text);
  }

  async answerPayload(
    payload: unknown,
    text: string,
    origin: Origin,
    receiver: AnswerReceiver,
  ): Promise<undefined> {
    try {
      this.#answerer ??= import("./method-not-found.ts").then((own) =>
        own.methodNotFoundAnswerer(this.#settings),
      );
      const answer = (await this.#answerer).answerPayload(payload, text, origin, receiver);
      if (!(answer instanceof Promise)) receiver.answered(answer);
    } catch (error) {
      this.#answerer = undefined;
      this.#settings.log.error({ err: error }, "could not load the code that answers calls");
      receiver.answered(undefined);
    }
  }

  tooLarge(): undefined {}

  unreadable(): undefined {}

  refusing(): this {
    return this;
  }

  async drain(): Promise<void> {}
}
