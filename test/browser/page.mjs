// Runs in a page: the portable checks over each wire that a browser has.
import { createClient, createServer } from "callwire";
import { httpLink } from "callwire/http";
import { sseLink } from "callwire/sse";
import { fetchConformanceWire, runConformance, webSocketConformanceWire } from "callwire/testing";
import { portLink } from "callwire/worker";
import { connectWebSocket, webSocketLink } from "callwire/ws";
import { check, equal, exercise, inMessage, lines, settled } from "../runtimes/portable-checks.mjs";

/** Everything that a page of the server's own origin does. Returns a line for each promise. */
async function ownPage() {
  await exercise("over HTTP", httpLink("/rpc"));
  await exercise("over events", sseLink("/rpc"), inMessage);
  await exercise("over a WebSocket", webSocketLink("/rpc"));

  const connection = await connectWebSocket("/rpc/ws", {
    service: createServer({ name: () => "a page" }),
  });
  check("over a WebSocket the server calls the page", async () => {
    equal(await connection.call("whoIsThere"), "a page");
  });
  await settled();
  await connection.close();

  check("EventSource reads a stream in the plain form", async () => {
    const source = new EventSource("/rpc/stream?method=math/count&to=2&id=7");
    /** @type {string[]} */
    const data = [];
    await new Promise((resolve, reject) => {
      source.onerror = reject;
      source.onmessage = (event) => {
        data.push(event.data);
        if (event.data === "[DONE]") resolve(undefined);
      };
    });
    source.close();
    equal(data.at(-1), "[DONE]");
    equal(
      data.slice(0, -1).map((text) => JSON.parse(text).result),
      [0, 1, 2],
    );
  });
  await settled();

  await exercise(
    "in a worker",
    portLink(new Worker("/worker.js", { type: "module", name: "portable methods" })),
  );

  check("a worker whose script is missing fails its calls", async () => {
    const client = createClient(portLink(new Worker("/rpc/no-such-worker.js")));
    const error = await client.call("echo").catch((/** @type {unknown} */ thrown) => thrown);
    equal(/** @type {{ code: unknown }} */ (error).code, "CONNECTION_LOST");
  });
  await settled();
  return lines;
}

/**
 * What a page of another origin gets to see of each attempt to call; `ran` is the method it calls.
 * @param {string} origin
 */
async function foreignPage(origin) {
  const body = '{"jsonrpc":"2.0","method":"echo","params":["foreign"],"id":1}';
  /** @param {() => Promise<unknown>} attempt */
  const outcome = (attempt) => attempt().then(String, (error) => error.code ?? error.name);
  return {
    call: await outcome(() => createClient(httpLink(`${origin}/rpc`)).call("echo", ["foreign"])),
    // Without CORS and with a type that needs no preflight, a browser sends this one.
    blind: await outcome(async () => {
      const headers = { "content-type": "text/plain" };
      const init = { method: "POST", mode: /** @type {const} */ ("no-cors"), headers, body };
      return (await fetch(`${origin}/rpc`, init)).type;
    }),
    socket: await outcome(() => connectWebSocket(`${origin}/rpc`).then(() => "connected")),
    events: await outcome(
      () =>
        new Promise((resolve) => {
          const source = new EventSource(`${origin}/rpc/stream?method=math/count&to=2`);
          source.onmessage = () => resolve("an event");
          source.onerror = () => resolve("refused");
        }),
    ),
  };
}

/**
 * The conformance kit over what a page has. Returns how it ended on each wire, and what failed.
 * @param {import("callwire/testing").ConformanceGroup[] | undefined} groups
 */
async function conformance(groups) {
  const url = new URL("/rpc", location.href).href;
  const wires = [fetchConformanceWire(url), webSocketConformanceWire(url.replace("http", "ws"))];
  const reports = [];
  for (const wire of wires) {
    const options = { fixtures: { add: "math/add" }, groups, timeoutMs: 30_000 };
    const { state, results } = await runConformance(wire, options);
    const ids = (/** @type {string} */ outcome) =>
      results.filter((each) => each.outcome === outcome).map((each) => each.case.id);
    reports.push({ wire: wire.name, state, failed: ids("failed"), passed: ids("passed").length });
  }
  return reports;
}

Object.assign(globalThis, { ownPage, foreignPage, conformance });
