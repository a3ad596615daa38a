import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { JsMsg } from "../../../src/transports/nats/jetstream/client-library.ts";
import { storeDeadLetter } from "../../../src/transports/nats/jetstream/dead-letter.ts";
import type { Delivery } from "../../../src/transports/nats/jetstream/delivery.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a dead letter is stored once a second until that succeeds, and logged once before", async () => {
  const log: string[] = [];
  const publish = vi.fn().mockRejectedValue(new Error("the disk is full"));
  const done = vi.fn();
  const delivery = {
    service: { log: { warn: (_: object, message: string) => log.push(message) } },
    client: { publish },
    queue: { deadSubjectOf: (subject: string) => `dead.${subject}` },
    acknowledgements: { done, whileWorking: (_: unknown, work: () => unknown) => work() },
    isStopping: () => false,
  } as unknown as Delivery;
  const info = { deliveryCount: 1, stream: "WORK", timestampNanos: 1n };
  const message = { seq: 1, subject: "note", info, data: new Uint8Array(0) } as unknown as JsMsg;

  const stored = storeDeadLetter(message, { code: 1001, message: "no" }, delivery);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(publish).toHaveBeenCalledTimes(3);
  expect(log).toEqual(["could not store a dead letter; retrying"]);
  expect(done).not.toHaveBeenCalled();
  publish.mockResolvedValue({});
  await vi.advanceTimersByTimeAsync(1_000);
  await stored;
  expect(log.slice(1)).toEqual(["notification failed and was stored as a dead letter"]);
  expect(done).toHaveBeenCalledWith(message);
});
