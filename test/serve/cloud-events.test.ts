import { setImmediate as turn } from "node:timers/promises";
import { createServer, type Log, method, silentLog } from "callwire";
import { type CloudEventsOptions, cloudEvents } from "callwire/cloudevents";
import { serveHttp } from "callwire/http/node";
import { expect, onTestFinished, test } from "vitest";

const plain = { specversion: "1.0", id: "e1", source: "/shop", type: "note" };
const kindOf = ({ data }: { readonly data?: unknown }): string => (data as { kind: string }).kind;

async function serving(options: CloudEventsOptions = {}) {
  const headers: unknown[] = [];
  const told: string[] = [];
  const log: Log = { ...silentLog, error: (_, message) => told.push(message) };
  const note = method({}, (_, { transport }) => void headers.push(transport.headers));
  const server = createServer({ note, count: () => 10n }, { log });
  const http = await serveHttp(server, { port: 0, mounts: cloudEvents(server, options) });
  onTestFinished(() => server.close({ drainMs: 0 }));
  const post = async (body: string, more: Record<string, string> = {}): Promise<string> => {
    const response = await fetch(http.url.replace("/rpc", "/events"), {
      method: "POST",
      headers: { "content-type": "application/cloudevents+json", ...more },
      body,
    });
    return `${response.status} ${await response.text()}`;
  };
  return { post, headers, told };
}

test("an attribute that has no text is left out", async () => {
  const { post, headers } = await serving();
  const odd = { ...plain, tries: 2, subject: null, tenant: { toString: 1, valueOf: 1 } };
  expect(await post(JSON.stringify(odd))).toBe('200 {"status":"SUCCESS"}');
  expect(headers).toEqual([expect.objectContaining({ "ce-id": "e1", "ce-tries": "2" })]);
  expect(headers[0]).not.toHaveProperty("ce-tenant");
  expect(headers[0]).not.toHaveProperty("ce-subject");
});

test("a header of the delivery is not an attribute of an event without that name", async () => {
  const { post, headers } = await serving();
  const more = { "ce-subject": "somebody", "ce-source": "/elsewhere", "x-tenant": "one" };
  expect(await post(JSON.stringify(plain), more)).toBe('200 {"status":"SUCCESS"}');
  expect(headers).toEqual([expect.objectContaining({ "ce-source": "/shop", "x-tenant": "one" })]);
  expect(headers[0]).not.toHaveProperty("ce-subject");
});

test("in the binary form data is in the body, and in no header", async () => {
  const data: unknown[] = [];
  const { post } = await serving({ paramsOf: (event) => [data.push(event.data)] });
  const attributes = Object.entries(plain).map(([name, value]) => [`ce-${name}`, value]);
  const more = { ...Object.fromEntries(attributes), "ce-data": "x", "content-type": "text/plain" };
  expect(await post("", more)).toBe('200 {"status":"SUCCESS"}');
  expect(await post("y", more)).toBe('200 {"status":"SUCCESS"}');
  expect(data).toEqual([undefined, "y"]);
});

test("an event with a long id is taken too", async () => {
  const { post, headers } = await serving();
  const id = "i".repeat(1_000);
  expect(await post(JSON.stringify({ ...plain, id }))).toBe('200 {"status":"SUCCESS"}');
  expect(headers).toEqual([expect.objectContaining({ "ce-id": id })]);
});

test("an event is taken when its method is done, whatever that returns", async () => {
  const { post } = await serving({ methodOf: () => "count" });
  expect(await post(JSON.stringify(plain))).toBe('200 {"status":"SUCCESS"}');
});

test.each([
  ["data of many levels", {}, "[".repeat(100_000) + "]".repeat(100_000)],
  ["a methodOf that throws", { methodOf: kindOf }, "null"],
  ["a paramsOf that throws", { paramsOf: (event) => [kindOf(event)] }, "null"],
  ["a paramsOf without JSON", { paramsOf: () => [10n] }, "null"],
] satisfies [string, CloudEventsOptions, string][])(
  "an event that cannot become a call comes again: %s",
  async (_, options, data) => {
    const { post, headers, told } = await serving(options);
    const body = JSON.stringify(plain).replace("}", `,"data":${data}}`);
    expect(await post(body)).toBe('503 {"status":"RETRY"}');
    expect(told).toEqual(["could not convert an event to a call"]);
    expect(headers).toEqual([]);
  },
);

test("a batch of any length runs a few events at a time, and leaves room for others", async () => {
  let running = 0;
  let most = 0;
  let taken = 0;
  const note = method({}, async () => {
    most = Math.max(most, ++running);
    await turn();
    running--;
    taken++;
  });
  const limits = { maxBatchConcurrency: 4 };
  const server = createServer({ note }, { log: silentLog, limits, maxRunning: 5 });
  const http = await serveHttp(server, { port: 0, mounts: cloudEvents(server) });
  onTestFinished(() => server.close({ drainMs: 0 }));
  const response = await fetch(http.url.replace("/rpc", "/events"), {
    method: "POST",
    headers: { "content-type": "application/cloudevents-batch+json" },
    body: JSON.stringify(new Array(50).fill(plain)),
  });
  expect(await response.json()).toEqual({ status: "SUCCESS" });
  expect({ most, taken }).toEqual({ most: 4, taken: 50 });
});
