import { silentLog } from "callwire";
import { FakeClock } from "callwire/testing";
import { MemoryWorkStore } from "callwire/work";
import { expect, test } from "vitest";
import { SharedStreams } from "../../../src/mcp/server/http/shared-streams.ts";
import { WorkTable } from "../../../src/work/work-table.ts";

/** What is stored of a stream with these events after its end. */
async function stored(events: readonly string[]) {
  const clock = new FakeClock();
  const store = new MemoryWorkStore();
  const abandoned = () => {
    throw new Error("its process runs");
  };
  const settings = { store, clock, log: silentLog, maxRunning: 2, abandoned };
  const streams = new SharedStreams(new WorkTable(settings), () => clock.now());
  const copy = streams.copy("1", "session", { request: 1, listens: false });
  for (const event of events) copy.add(event);
  copy.finish();
  const record = await streams.find("1", "session", events.length);
  return record?.body;
}

test("of a stream the last 100 events are stored", async () => {
  const events = Array.from({ length: 150 }, (_, number) => `${number}`);
  expect(await stored(events)).toMatchObject({ first: 51, events: events.slice(50) });
});

test("of a stream at most 128 KiB are stored", async () => {
  const half = "x".repeat(64 * 1024);
  expect(await stored([half, half, half])).toMatchObject({ first: 2, events: [half, half] });
});
