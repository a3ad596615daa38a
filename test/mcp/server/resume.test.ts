/**
 * Streams of the legacy era whose connection broke continue after the event that the client names.
 */
import { createServer, silentLog } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { type McpServer, mcpMounts, mcpServer, tool } from "callwire/mcp";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventsOf, HttpClient, request, type StreamedEvent } from "./asking.ts";

let server: McpServer;
let http: HttpServer;
let client: HttpClient;
/** Lets the tool end. */
let finish: () => void;

beforeEach(async () => {
  const counts = tool({}, async (_, call) => {
    for (const progress of [1, 2, 3]) call.progress(progress);
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    call.progress(4);
    return "done";
  });
  server = mcpServer({ counts }, { name: "test", version: "1", log: silentLog });
  const mounts = mcpMounts(server, { replay: { maxEvents: 4 } });
  http = await serveHttp(createServer({}), { port: 0, mounts });
  client = new HttpClient(new URL("/mcp", http.url).href);
  await client.initialize();
});

afterEach(async () => {
  await http.close();
  await server.close();
});

/** The number that an event reports, or the text of the result. */
function saying({ data }: StreamedEvent): unknown {
  const { params, result } = JSON.parse(data);
  return params?.progress ?? result.content[0].text;
}

async function resumed(id: string | undefined): Promise<unknown[]> {
  const said: unknown[] = [];
  for await (const event of eventsOf(await client.get({ "last-event-id": id ?? "" }))) {
    said.push(saying(event));
  }
  return said;
}

const call = request("tools/call", { name: "counts", _meta: { progressToken: "p" } });

async function first(count: number, response: Response): Promise<StreamedEvent[]> {
  const events: StreamedEvent[] = [];
  for await (const event of eventsOf(response)) {
    events.push(event);
    if (events.length === count) break;
  }
  return events;
}

test("after any event that the client names, without repeats and gaps", async () => {
  const events = await first(4, await client.post(call));
  expect(events.map(({ data }) => data === "" || saying({ id: "", data }))).toEqual([
    true,
    1,
    2,
    3,
  ]);
  expect(new Set(events.map(({ id }) => id)).size).toBe(4);
  finish();
  const all = [1, 2, 3, 4, "done"];
  expect(await resumed(events[3]?.id)).toEqual(all.slice(3));
  expect(await resumed(events[2]?.id)).toEqual(all.slice(2));
  expect(await resumed(events[1]?.id)).toEqual(all.slice(1));
  // There was one event more than the server keeps.
  const refused = await client.get({ "last-event-id": events[0]?.id ?? "" });
  expect(refused.status).toBe(400);
});

test("a client that resumes twice gets the rest on its last connection", async () => {
  const [, , event] = await first(3, await client.post(call));
  const earlier = eventsOf(await client.get({ "last-event-id": event?.id ?? "" }));
  expect(saying((await earlier.next()).value as StreamedEvent)).toBe(3);
  const later = eventsOf(await client.get({ "last-event-id": event?.id ?? "" }));
  expect(saying((await later.next()).value as StreamedEvent)).toBe(3);
  // The other one was ended, without the events that follow.
  expect(await earlier.next()).toMatchObject({ done: true });
  finish();
  const rest: unknown[] = [];
  for await (const each of later) rest.push(saying(each));
  expect(rest).toEqual([4, "done"]);
});

test("the stream outside of requests is resumed, too", async () => {
  const cut = new AbortController();
  const events = eventsOf(await client.get({}, cut.signal));
  const { value: primer } = await events.next();
  server.catalog.addMethods({ b: () => 1 });
  await events.next();
  cut.abort();
  server.catalog.addMethods({ c: () => 1 });
  const rest = eventsOf(await client.get({ "last-event-id": primer?.id ?? "" }));
  const method = "notifications/tools/list_changed";
  for (let i = 0; i < 2; i++) {
    expect(JSON.parse((await rest.next()).value?.data ?? "")).toEqual({ jsonrpc: "2.0", method });
  }
  await rest.return(undefined);
});

test("an event that was never sent, here or to this client, is refused with a reason", async () => {
  const [, event] = await first(2, await client.post(call));
  const [stream = ""] = event?.id?.split(".") ?? [];
  const other = new HttpClient(client.url);
  await other.initialize();
  const refusals = [
    await client.get({ "last-event-id": "no such event" }),
    await client.get({ "last-event-id": `${crypto.randomUUID()}.1` }),
    await client.get({ "last-event-id": `${stream}.99` }),
    await other.get({ "last-event-id": event?.id ?? "" }),
  ];
  for (const response of refusals) {
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      jsonrpc: "2.0",
      error: { code: -32000, message: "this stream no longer exists" },
    });
  }
  finish();
});
