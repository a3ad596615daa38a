import { shedLoad } from "callwire/security";
import { expect, test } from "vitest";
import { send, serve } from "../transports/http/wire.ts";
import { request } from "./serving.ts";

test("while the event loop lags, calls are refused with 503", async () => {
  const use = [shedLoad({ maxLagMs: 200, sampleMs: 500 })];
  const block = () => {
    // What was late is remembered for ten samples and twice as long, in which the next request has to come.
    const end = performance.now() + 1_000;
    while (performance.now() < end);
    return "done";
  };
  const { port } = await serve({ block, now: () => "now" }, {}, { use });
  const slow = send(port, { body: request("block") });
  expect((await slow).text).toContain("done");
  // The timer that was due meanwhile has fired by the time that the next request is read.
  const shed = await send(port, { body: request("now") });
  expect(shed.status).toBe(503);
  expect(shed.headers["retry-after"]).toBe("1");
  expect(shed.text).toContain('"code":-32005');
  await expect.poll(async () => (await send(port, { body: request("now") })).status).toBe(200);
});
