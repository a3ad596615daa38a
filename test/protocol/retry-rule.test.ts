import { RemoteError, WireError, type WireErrorCode } from "callwire";
import { describe, expect, test } from "vitest";
import {
  isStopping,
  maySendAgain,
  type Outcome,
  outcomeOf,
  replyAfter,
  reportedAs,
  worseOf,
} from "../../src/protocol/retry-rule.ts";

const wire: Readonly<Record<WireErrorCode, Outcome>> = {
  CONNECTION_FAILED: "did-not-run",
  CONNECTION_LOST: "may-have-run",
  CLOSED: "final",
  TIMEOUT: "final",
  ABORTED: "final",
  BAD_REPLY: "final",
  HTTP_STATUS: "final",
  TOO_LARGE: "final",
  UNSUPPORTED: "final",
};

const statuses: readonly [number, Outcome][] = [
  [404, "final"],
  [408, "final"],
  [413, "final"],
  [429, "final"],
  [500, "final"],
  [501, "final"],
  [502, "may-have-run"],
  [503, "may-have-run"],
  [504, "may-have-run"],
];

const replies: readonly [number, unknown, Outcome][] = [
  [-32005, { ran: false, reason: "busy", retryAfterMs: 1000 }, "did-not-run"],
  [-32005, { ran: true, reason: "busy" }, "may-have-run"],
  [-32006, { ran: false, reason: "stopping" }, "did-not-run"],
  [-32006, { ran: true, reason: "stopping", details: "…" }, "may-have-run"],
  [-32009, { ran: false, reason: "unavailable", details: "…" }, "did-not-run"],
  [-32009, { ran: "unknown", reason: "unavailable", details: "…" }, "may-have-run"],
  [-32009, { ran: "unknown", reason: "connection-lost", details: "…" }, "may-have-run"],
  [-32009, { ran: false, reason: "too-large", details: "…" }, "final"],
  [-32009, { ran: "unknown", reason: "too-large", details: "…" }, "final"],
  [-32009, { ran: "unknown", reason: "http-status", details: "…" }, "final"],
  [-32009, { ran: false, reason: "unsupported", details: "…" }, "final"],
  [-32009, { ran: "unknown", reason: "bad-reply", details: "…" }, "final"],
  [-32010, { ran: false, reason: "rate-limited", retryAfterMs: 1000 }, "final"],
  [-32600, { ran: false, reason: "not-found", details: "…" }, "final"],
  [-32600, { limit: "maxBatch", max: 100, details: "…" }, "final"],
  [-32600, "a request is a JSON object", "final"],
  [-32601, undefined, "final"],
  [-32603, undefined, "final"],
  [-32003, undefined, "final"],
  [-32800, undefined, "final"],
  // Other servers, and errors of applications.
  [-32005, undefined, "final"],
  [-32006, undefined, "final"],
  [-32006, null, "final"],
  [-32006, "stopping", "final"],
  [-32006, { reason: "stopping" }, "final"],
  [-32006, { ran: false }, "final"],
  [-32006, { ran: 0, reason: "stopping" }, "final"],
  [-32006, { ran: "perhaps", reason: "stopping" }, "final"],
  [-32006, { ran: false, reason: "busy" }, "final"],
  [-32006, { ran: false, reason: ["stopping"] }, "final"],
  [-32006, { ran: false, reason: "constructor" }, "final"],
  [1001, { ran: false, reason: "busy" }, "final"],
];

/** Each outcome with whether a call that is not idempotent, and one that is, may be sent again. */
const table: Readonly<Record<Outcome, readonly [boolean, boolean]>> = {
  "did-not-run": [true, true],
  "may-have-run": [false, true],
  final: [false, false],
};

function expectOutcome(failure: unknown, expected: Outcome): void {
  const outcome = outcomeOf(failure);
  expect(outcome).toBe(expected);
  const may = (idempotent: boolean): boolean => maySendAgain(outcome, { idempotent });
  expect([may(false), may(true)]).toEqual(table[expected]);
  // Items of an upload cannot be taken twice.
  expect(maySendAgain(outcome, { idempotent: true, upload: { begun: true } })).toBe(false);
  expect(maySendAgain(outcome, { idempotent: true, upload: { begun: false } })).toBe(may(true));
}

describe("the retry rule", () => {
  test.each(Object.entries(wire))("%s is %s", (code, expected) => {
    expectOutcome(new WireError(code as WireErrorCode, "no"), expected);
  });

  test.each(statuses)("the HTTP status %i is %s", (status, expected) => {
    expectOutcome(new WireError("HTTP_STATUS", "no", { status }), expected);
  });

  test.each(replies)("the error %i with data %j is %s", (code, data, expected) => {
    const error = { code, message: "no", ...(data === undefined ? {} : { data }) };
    expectOutcome(error, expected);
    expectOutcome(RemoteError.from(error), expected);
  });

  test("no error, and whatever else was thrown, is final", () => {
    for (const thrown of [undefined, null, "busy", new TypeError("no"), {}]) {
      expectOutcome(thrown, "final");
    }
  });

  test("callers name further failures that are temporary for them", () => {
    const also = { codes: ["CLOSED"], statuses: [404] } as const;
    const outcomes = [
      new WireError("CLOSED", "no"),
      new WireError("TIMEOUT", "no"),
      new WireError("HTTP_STATUS", "no", { status: 404 }),
      new WireError("HTTP_STATUS", "no", { status: 413 }),
      new WireError("CONNECTION_FAILED", "no"),
    ].map((error) => outcomeOf(error, also));
    expect(outcomes).toEqual(["may-have-run", "final", "may-have-run", "final", "did-not-run"]);
  });

  test("a server is stopping if its code and its data say so", () => {
    const data = { ran: false, reason: "stopping" };
    expect(isStopping({ code: -32006, data })).toBe(true);
    expect(isStopping({ code: -32006, data: { ...data, ran: true } })).toBe(true);
    expect(isStopping({ code: -32005, data })).toBe(false);
    expect(isStopping({ code: -32006, message: "Server is shutting down" })).toBe(false);
    expect(isStopping(undefined)).toBe(false);
  });

  test("a call that may have run is not reported as one that did not", () => {
    const lost = new WireError("CONNECTION_LOST", "cut");
    const failed = new WireError("CONNECTION_FAILED", "nobody there");
    const aborted = new WireError("ABORTED", "given up");
    expect(worseOf(lost, failed)).toBe(lost);
    expect(worseOf(failed, lost)).toBe(lost);
    expect(worseOf(failed, failed)).toBe(failed);
    expect(worseOf(lost, aborted)).toBe(aborted);
    const limited = { code: -32010, data: { ran: false, reason: "rate-limited" } };
    expect(worseOf<unknown>(lost, limited)).toBe(lost);
    expect(worseOf<unknown>(failed, limited)).toBe(limited);
    expect(worseOf(undefined as unknown, failed)).toBe(failed);
  });

  test("a lost connection is reported with the code that it has for the call", () => {
    const failed = new WireError("CONNECTION_FAILED", "nobody there", { status: 502 });
    const lost = reportedAs("CONNECTION_LOST", failed);
    expect(lost).toBeInstanceOf(WireError);
    expect(lost).toMatchObject({ code: "CONNECTION_LOST", message: "nobody there", status: 502 });
    expect((lost as WireError).cause).toBe(failed);
    expect(reportedAs("CONNECTION_LOST", lost)).toBe(lost);
    const cut = new WireError("CONNECTION_LOST", "cut");
    expect(reportedAs("CONNECTION_FAILED", cut)).toMatchObject({
      code: "CONNECTION_FAILED",
      status: undefined,
    });
    for (const other of [new WireError("ABORTED", "given up"), new Error("no"), undefined]) {
      expect(reportedAs("CONNECTION_LOST", other)).toBe(other);
    }
  });

  test("a reply after an attempt that may have run does not say that the call did not run", () => {
    const data = { ran: false, reason: "busy", retryAfterMs: 5 };
    const refused = { result: undefined, error: { code: -32005, message: "Server busy", data } };
    expect(replyAfter(false, refused)).toBe(refused);
    expect(replyAfter(true, refused)).toEqual({
      result: undefined,
      error: { ...refused.error, data: { ...data, ran: "unknown" } },
    });
    const ran = { result: undefined, error: { ...refused.error, data: { ...data, ran: true } } };
    for (const reply of [undefined, { result: 5, error: undefined }, ran]) {
      expect(replyAfter(true, reply)).toBe(reply);
      expect(replyAfter(false, reply)).toBe(reply);
    }
  });
});
