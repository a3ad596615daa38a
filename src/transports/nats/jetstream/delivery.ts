import { decodeUtf8 } from "../../../framing/utf8.ts";
import { ErrorCode } from "../../../protocol/errors.ts";
import { type ErrorObject, isThenable } from "../../../protocol/message.ts";
import { Origin } from "../../../protocol/origin.ts";
import { isEnvelope, parsePayload, unparsable } from "../../../protocol/parse.ts";
import type { Service } from "../../../protocol/service.ts";
import { createHeaders } from "../client-library.ts";
import { transportOf } from "../headers.ts";
import { saysTooLarge } from "../too-large.ts";
import type { JetStreamClient, JsMsg } from "./client-library.ts";
import { requireMs } from "./option-checks.ts";
import type { DurableQueue } from "./queue.ts";
import { working } from "./working.ts";

export interface DeliveryOptions {
  /** How often a notification is tried before it goes to the dead letters; `Infinity` for no end. @default 5 */
  readonly maxTries?: number;
  /** The wait before the second try; it doubles from then on. @default 1000 */
  readonly delayMs?: number;
  /** The longest wait between two tries. @default 60000 */
  readonly maxDelayMs?: number;
  /** After this time without a word from its worker, a notification goes to another. @default 30000 */
  readonly ackWaitMs?: number;
}

/** The options with their defaults; throws where one makes no sense. */
export function deliveryTerms(options: DeliveryOptions): Required<DeliveryOptions> {
  const { maxTries = 5, delayMs = 1_000, maxDelayMs = 60_000, ackWaitMs = 30_000 } = options;
  if (!(maxTries >= 1 && (Number.isInteger(maxTries) || maxTries === Number.POSITIVE_INFINITY))) {
    throw new TypeError(`maxTries is an integer from 1 up, or Infinity, not ${maxTries}`);
  }
  requireMs("delayMs", delayMs, 0);
  requireMs("maxDelayMs", maxDelayMs, 0);
  requireMs("ackWaitMs", ackWaitMs, 1);
  return { maxTries, delayMs, maxDelayMs, ackWaitMs };
}

/** Errors that another try would end with too. */
const hopeless: readonly number[] = [
  ErrorCode.ParseError,
  ErrorCode.InvalidRequest,
  ErrorCode.MethodNotFound,
  ErrorCode.InvalidParams,
];
/** Least wait of a worker that is full, whatever the options say. */
const breathMs = 10;

/** One notification that was delivered to this worker. */
export class Delivery {
  readonly #message: JsMsg;
  readonly #service: Service;
  readonly #client: JetStreamClient;
  readonly #queue: DurableQueue;

  constructor(message: JsMsg, service: Service, client: JetStreamClient, queue: DurableQueue) {
    this.#message = message;
    this.#service = service;
    this.#client = client;
    this.#queue = queue;
  }

  /** Runs the method, and then tells the engine how it went. */
  async handle(terms: Required<DeliveryOptions>): Promise<void> {
    const { maxTries, delayMs, maxDelayMs, ackWaitMs } = terms;
    const tries = this.#message.info.deliveryCount;
    // A notification that ends its workers comes back without ever having failed.
    const error =
      tries > maxTries
        ? { code: ErrorCode.InternalError, message: "Its workers ended while they handled it" }
        : await this.#runWhenFree(ackWaitMs, delayMs);
    if (error === undefined) this.#message.ack();
    else if (tries < maxTries && !hopeless.includes(error.code)) {
      this.#message.nak(Math.min(maxDelayMs, delayMs * 2 ** (tries - 1)));
    } else if (error.code === ErrorCode.ShuttingDown) this.#message.nak(delayMs);
    else await this.#bury(error, tries, delayMs);
  }

  /**
   * The error that the method ended with, if it failed. While this worker is full the notification waits
   * here: given back it would count as tried, and die without ever having run.
   */
  #runWhenFree(ackWaitMs: number, delayMs: number): Promise<ErrorObject | undefined> {
    return working(this.#message, ackWaitMs, async () => {
      for (;;) {
        const error = await this.#run();
        if (error?.code !== ErrorCode.ServerBusy) return error;
        await new Promise((resolve) => setTimeout(resolve, Math.max(breathMs, delayMs)));
      }
    });
  }

  async #run(): Promise<ErrorObject | undefined> {
    const { data, headers, seq } = this.#message;
    const { answerer, limits } = this.#service;
    const text = decodeUtf8(data, 0, data.length);
    const payload = text === undefined ? unparsable : parsePayload(text, limits.maxBatch);
    if (text === undefined || !isEnvelope(payload)) {
      return { code: ErrorCode.ParseError, message: "Parse error" };
    }
    // With an id it is answered, and so tells whether it was handled.
    const call = { ...payload, id: seq };
    const answer = answerer.answerPayload(call, text, new Origin(transportOf(headers)));
    const reply = isThenable(answer) ? await answer : answer;
    const { error } = JSON.parse(reply ?? "{}") as { error?: ErrorObject };
    return error;
  }

  /** Keeps it among the dead letters, and only then forgets it. */
  async #bury(error: ErrorObject, tries: number, delayMs: number): Promise<void> {
    const { data, headers, info, seq, subject } = this.#message;
    const about = createHeaders();
    for (const [name, values] of headers ?? []) {
      // The engine would take it for a repetition of itself.
      if (name.toLowerCase() !== "nats-msg-id")
        for (const value of values) about.append(name, value);
    }
    about.set("error-code", `${error.code}`);
    about.set("error-message", error.message.replace(/[\r\n]/g, " "));
    about.set("tries", `${tries}`);
    const to = this.#queue.deadSubjectOf(subject);
    const { log } = this.#service;
    const { code, message } = error;
    const fields = { subject, to, seq, tries, code, error: message };
    const msgID = `${info.stream}:${seq}`;
    const keep = (more: object): Promise<unknown> =>
      this.#client.publish(to, data, { ...more, msgID });
    try {
      await keep({ headers: about }).catch((refusal: unknown) => {
        // One that is nearly too long has no room for the reason.
        if (saysTooLarge(refusal)) return keep({});
        throw refusal;
      });
      this.#message.ack();
      log.warn(fields, "a notification went to the dead letters");
    } catch (cause) {
      this.#message.nak(delayMs);
      const why = (cause as Error).message;
      log.warn({ ...fields, why }, "a notification could not go to the dead letters; it stays");
    }
  }
}
