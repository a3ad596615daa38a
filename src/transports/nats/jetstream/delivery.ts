import { decodeUtf8 } from "../../../framing/utf8.ts";
import { ErrorCode, shuttingDown, type Undisclosed } from "../../../protocol/errors.ts";
import type { ErrorObject } from "../../../protocol/message.ts";
import { Origin } from "../../../protocol/origin.ts";
import { isEnvelope, parsePayload, unparsable } from "../../../protocol/parse.ts";
import { hasReadableHeaders, transportOf, unreadableHeaders } from "../headers.ts";
import { requireMs } from "../option-checks.ts";
import { calledElsewhere } from "../subjects.ts";
import type { JsMsg } from "./client-library.ts";
import { bury } from "./dead-letter.ts";
import { Overtime } from "./overtime.ts";
import { type Workplace, working } from "./workplace.ts";

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

/** Runs the method of a notification, and then tells the engine how it went. */
export async function deliver(message: JsMsg, workplace: Workplace): Promise<void> {
  const { verdicts, terms } = workplace;
  const { maxTries, delayMs, maxDelayMs } = terms;
  const tries = message.info.deliveryCount;
  // A notification that ends its workers comes back without ever having failed.
  const error =
    tries > maxTries
      ? { code: ErrorCode.InternalError, message: "Its workers ended while they handled it" }
      : await runWhenFree(message, workplace);
  if (error === undefined) verdicts.done(message);
  else if (tries < maxTries && !hopeless.includes(error.code)) {
    verdicts.again(message, Math.min(maxDelayMs, delayMs * 2 ** (tries - 1)));
  } else if (error.code === ErrorCode.ShuttingDown) verdicts.again(message, delayMs);
  else await bury(message, error, workplace);
}

/**
 * The error that the method ended with, if it failed. While this worker is full, or the rate limit of its caller
 * is used up, the notification waits here: given back it would count as tried, and die without ever having run.
 */
function runWhenFree(message: JsMsg, workplace: Workplace): Promise<ErrorObject | undefined> {
  const { terms, isStopping } = workplace;
  const breakMs = Math.max(breathMs, terms.delayMs);
  const isLast = message.info.deliveryCount >= terms.maxTries;
  return working(message, workplace, async () => {
    for (;;) {
      const error = await run(message, workplace);
      if (!isTurnedAway(error)) return error;
      // Another may have room for it; on its last try it has to stay.
      if (isStopping() && !isLast) return shuttingDown;
      await new Promise((resolve) => setTimeout(resolve, breakMs));
    }
  });
}

/** Whether it did not run, for reasons that pass. A method may also tell of the limit of somebody else. */
function isTurnedAway(error: (ErrorObject & Undisclosed) | undefined): boolean {
  if (error?.code === ErrorCode.ServerBusy) return true;
  return error?.code === ErrorCode.RateLimited && error.reason !== undefined;
}

async function run(
  message: JsMsg,
  workplace: Workplace,
): Promise<(ErrorObject & Undisclosed) | undefined> {
  if (!hasReadableHeaders(message)) return unreadableHeaders;
  const { data, headers, seq, subject } = message;
  const { service, queue } = workplace;
  const { answerer, limits } = service;
  const text = decodeUtf8(data, 0, data.length);
  const payload = text === undefined ? unparsable : parsePayload(text, limits.maxBatch);
  if (text === undefined || !isEnvelope(payload)) {
    return { code: ErrorCode.ParseError, message: "Parse error" };
  }
  const { method } = payload;
  if (typeof method === "string" && !queue.isCalledAt(subject, method)) return calledElsewhere;
  // With an id it is answered, and so tells whether it was handled.
  const call = { ...payload, id: seq };
  const overtime = new Overtime();
  const origin = new Origin(transportOf(headers), undefined, undefined, overtime);
  // A method that has done its work must not do it again for what it returns.
  origin.dropsResults = true;
  await answerer.answerPayload(call, text, origin);
  const { lastError: error } = origin;
  // Given back before it ends, it would run beside itself, and those behind it would not wait.
  if (error?.code === ErrorCode.RequestTimeout) await overtime.over(message, workplace);
  return error;
}
