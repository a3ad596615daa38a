import { createClient, createServer, method } from "callwire";
import { memoryPair } from "callwire/connection";
import { expect, test } from "vitest";
import { z } from "zod";

// Language servers report progress under a token from the params, not under the call's id.

const reporting = createServer({
  work: method({ params: z.object({ workDoneToken: z.string() }) }, (_, call) => {
    call.progress("half");
    return "done";
  }),
  partial: method({}, (_, call) => {
    call.notify("$/progress", { token: "partial results", value: [1] });
    return "done";
  }),
});

test("a report under the token of the params reaches the call", async () => {
  const [connection] = memoryPair(undefined, reporting);
  const seen: unknown[] = [];
  const options = { onProgress: (value: unknown) => seen.push(value) };
  const call = createClient(connection).call("work", { workDoneToken: "mine" }, options);
  expect(await call).toBe("done");
  expect(seen).toEqual(["half"]);
});

test("a report about no call of this end is for its methods", async () => {
  const seen: unknown[] = [];
  const own = createServer({ "$/progress": (report: unknown) => void seen.push(report) });
  const [connection] = memoryPair(own, reporting);
  expect(await connection.call("partial")).toBe("done");
  expect(seen).toEqual([{ token: "partial results", value: [1] }]);
});
