import { decodeUtf8 } from "../../../framing/utf8.ts";
import { isEnvelope } from "../../../protocol/envelope.ts";
import { ErrorCode, type Undisclosed } from "../../../protocol/errors.ts";
import { callFailureIn } from "../../../protocol/failure-data.ts";
import { unparsable } from "../../../protocol/json-text.ts";
import type { ErrorObject } from "../../../protocol/message.ts";
import { Origin, type Usage } from "../../../protocol/origin.ts";
import { parsePayload } from "../../../protocol/payload.ts";
import { isStopping, outcomeOf } from "../../../protocol/retry-rule.ts";
import type { Service } from "../../../protocol/service.ts";
import { limitExceeded, serverBusy, shuttingDown } from "../../../protocol/standard-errors.ts";
import { pause, settledOrTimeout } from "../../../protocol/waiting.ts";
import { hasReadableHeaders, transportOf, unreadableHeaders } from "../headers.ts";
import { requireMs } from "../options.ts";
import { wrongSubject } from "../subjects.ts";
import type { Acknowledgements } from "./acknowledgements.ts";
import type { JetStreamClient, JsMsg } from "./client-library.ts";
import { storeDeadLetter } from "./dead-letter.ts";
import type { DurableQueue } from "./queue.ts";

export interface DeliveryOptions {
  /** How many times a notification is tried before it becomes a dead letter; with `Infinity`, one that always fails is tried forever. @default 5 */
  readonly maxTries?: number;
  /** The wait before the second try; it doubles with each try. @default 1000 */
  readonly delayMs?: number;
  /** The longest wait between two tries. @default 60000 */
  readonly maxDelayMs?: number;
  /** After this time without a sign of its worker a notification goes to another. Shorter than an election, it may run twice concurrently. @default 30000 */
  readonly ackWaitMs?: number;
}

export function deliveryOptions(options: DeliveryOptions): Required<DeliveryOptions> {
  const { maxTries = 5, delayMs = 1_000, maxDelayMs = 60_000, ackWaitMs = 30_000 } = options;
  if (!(maxTries >= 1 && (Number.isInteger(maxTries) || maxTries === Number.POSITIVE_INFINITY))) {
    throw new TypeError(`"maxTries" must be an integer from 1 up, or Infinity, not ${maxTries}`);
  }
  requireMs("delayMs", delayMs, 0);
  requireMs("maxDelayMs", maxDelayMs, 0);
  requireMs("ackWaitMs", ackWaitMs, 1);
  return { maxTries, delayMs, maxDelayMs, ackWaitMs };
}

/** What a worker needs to handle a notification. */
export interface Delivery {
  readonly service: Service;
  readonly client: JetStreamClient;
  readonly queue: DurableQueue;
  readonly options: Required<DeliveryOptions>;
  readonly acknowledgements: Acknowledgements;
  isStopping(): boolean;
  /** Resolves when the worker no longer waits for methods. */
  readonly closed: Promise<void>;
}

/** Errors that another try would have too. */
const permanent: readonly number[] = [
  ErrorCode.ParseError,
  ErrorCode.InvalidRequest,
  ErrorCode.MethodNotFound,
  ErrorCode.InvalidParams,
];
/** Shortest pause of a worker that is full, whatever `delayMs` is. */
const leastPauseMs = 10;
/** How long a method that ignores its timeout is waited for. */
const overtimeMs = 10 * 60_000;

/** Runs the method of a notification, and acknowledges the notification afterwards. */
export async function deliver(message: JsMsg, delivery: Delivery): Promise<void> {
  const { acknowledgements } = delivery;
  const { maxTries, delayMs, maxDelayMs } = delivery.options;
  const tries = message.info.deliveryCount;
  // A notification that crashes its workers is delivered again without ever having failed.
  const error =
    tries > maxTries
      ? { code: ErrorCode.InternalError, message: "Its workers stopped before they had handled it" }
      : await runWhenFree(message, delivery);
  if (error === undefined) acknowledgements.done(message);
  else if (tries < maxTries && !permanent.includes(error.code)) {
    acknowledgements.again(message, Math.min(maxDelayMs, delayMs * 2 ** (tries - 1)));
  } else if (isStopping(error)) acknowledgements.again(message, delayMs);
  else await storeDeadLetter(message, error, delivery);
}

/**
 * Returns the error of the method, if it failed. While this worker is full, or the caller's rate limit is used up, the notification waits
 * here: given back, it would count as tried, and become a dead letter without ever having run.
 */
function runWhenFree(message: JsMsg, delivery: Delivery): Promise<ErrorObject | undefined> {
  const { options, acknowledgements } = delivery;
  const pauseMs = Math.max(leastPauseMs, options.delayMs);
  const isLast = message.info.deliveryCount >= options.maxTries;
  return acknowledgements.whileWorking(message, async () => {
    for (;;) {
      const error = await run(message, delivery);
      if (!isTurnedAway(error)) return error;
      // On its last try it cannot be given to another worker.
      if (delivery.isStopping() && !isLast) return shuttingDown;
      await pause(pauseMs);
    }
  });
}

/** Whether the method did not run, and may run here later. A method may also pass on a rate limit error of another service. */
function isTurnedAway(error: (ErrorObject & Undisclosed) | undefined): boolean {
  if (outcomeOf(error) === "did-not-run") return !isStopping(error);
  return error?.reason !== undefined && callFailureIn(error)?.reason === "rate-limited";
}

async function run(
  message: JsMsg,
  delivery: Delivery,
): Promise<(ErrorObject & Undisclosed) | undefined> {
  if (!hasReadableHeaders(message)) return unreadableHeaders;
  const { data, headers, seq, subject } = message;
  const { service, queue } = delivery;
  const { maxBatch, maxMessageBytes } = service.limits;
  if (data.length > maxMessageBytes) return limitExceeded("maxMessageBytes", maxMessageBytes);
  const running = new RunningMethod();
  const origin = new Origin(transportOf(headers), undefined, undefined, running);
  // Before it is parsed: while the server is full, this is asked again and again, for each notification that waits.
  if (!service.running.hasRoomFor(origin, false)) return serverBusy;
  const text = decodeUtf8(data, 0, data.length);
  const payload = text === undefined ? unparsable : parsePayload(text, maxBatch);
  if (text === undefined || !isEnvelope(payload)) {
    return { code: ErrorCode.ParseError, message: "Parse error" };
  }
  const { method } = payload;
  if (typeof method === "string" && !queue.isCalledAt(subject, method)) return wrongSubject;
  // What a method returns is not sent, so a result that is not JSON must not make it run again.
  origin.dropsResults = true;
  // With an id it is answered, which shows whether it failed.
  await service.answerer.answerPayload({ ...payload, id: seq }, text, origin);
  const { lastError: error } = origin;
  // Given back before the method has ended, it would run twice concurrently, and later ones of its key would not wait.
  if (error?.code === ErrorCode.RequestTimeout) await running.ended(message, delivery);
  return error;
}

/** Whether the method of a notification still runs, which it may do after its timeout. */
class RunningMethod implements Usage {
  inFlight = 0;
  openStreams = 0;
  #end: (() => void) | undefined;

  count(calls: number, streams: number): void {
    this.inFlight += calls;
    this.openStreams += streams;
    if (this.inFlight === 0) this.#end?.();
  }

  /** Resolves when the method has ended, or is no longer waited for. */
  async ended({ subject, seq }: JsMsg, { service, closed }: Delivery): Promise<void> {
    if (this.inFlight === 0) return;
    const ended = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    await settledOrTimeout(service.running.clock, overtimeMs, Promise.race([ended, closed]));
    if (this.inFlight === 0) return;
    const message = "method still runs long after its timeout; released its notification";
    service.log.warn({ subject, seq }, message);
  }
}
