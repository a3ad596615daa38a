/**
 * Servers in the states that the transcript describes; only the form of their replies matters, so
 * no wire is used.
 */
import { readFileSync } from "node:fs";
import {
  createServer,
  failure,
  type Methods,
  Origin,
  type ServerOptions,
  silentLog,
  WireError,
  type WireErrorCode,
} from "callwire";
import { Connection } from "callwire/connection";
import { createGateway } from "callwire/gateway";
import { memoryLimits, rateLimit } from "callwire/security";
import { FakeClock } from "callwire/testing";
import { describe, test } from "vitest";
import { notFound } from "../../../src/http/refusal.ts";
import { HandLink } from "../../client/hand-link.ts";
import { HandChannel } from "../../connection/hand-channel.ts";
import { expectReply, parseTranscript, type Send } from "../transcript.ts";

const methods = {
  echo: (value: unknown) => value,
  hold: () => new Promise(() => {}),
} satisfies Methods;
const hold = '{"jsonrpc":"2.0","method":"hold","id":0}';

function serverOf(options: ServerOptions = {}) {
  return createServer(methods, { log: silentLog, ...options });
}

const states = {
  busy() {
    const server = serverOf({ maxRunning: 1 });
    void server.receive(hold);
    return (text) => server.receive(text);
  },
  stopping() {
    const server = serverOf({ clock: new FakeClock() });
    void server.receive(hold);
    void server.close();
    return (text) => server.receive(text);
  },
  ending() {
    const server = serverOf();
    return (text) => {
      const answer = server.receive(text);
      void server.close({ drainMs: 0 });
      return answer;
    };
  },
  closing: () => async (text) => {
    const channel = new HandChannel();
    const connection = new Connection(channel, {
      service: serverOf(),
      transport: { kind: "test", headers: {}, remoteAddress: undefined },
    });
    channel.hear(text);
    await connection.finish();
    return channel.sent.at(-1);
  },
  "rate-limited"() {
    const store = memoryLimits({ clock: new FakeClock() });
    const server = serverOf({ use: [rateLimit({ capacity: 1, perSecond: 1, store })] });
    const transport = { kind: "test", headers: {}, remoteAddress: "192.0.2.1" };
    return (text) => server.receive(text, new Origin(transport));
  },
  limited() {
    const server = serverOf({ limits: { maxMessageBytes: 500, maxBatch: 3 } });
    return (text) => server.receive(text);
  },
  "not-found": () => () => notFound.body,
  gateway() {
    const data = { ran: false, reason: "busy" };
    const link = new HandLink(({ method, params }) => {
      if (method === "busy") return failure({ code: -32005, message: "Server busy", data });
      const [code, status] = params as [WireErrorCode, number | undefined];
      throw new WireError(code, "no", status === undefined ? {} : { status });
    });
    const gateway = createGateway(
      {
        upstreams: { all: { targets: { one: () => link }, healthCheck: false } },
        routes: [{ method: "*", to: "all" }],
      },
      { log: silentLog, discover: false },
    );
    return async (text) => (await gateway).receive(text);
  },
} satisfies Record<string, () => Send>;

const names = Object.keys(states) as (keyof typeof states)[];
const source = readFileSync(new URL("failures.txt", import.meta.url), "utf8");
const { exchanges } = parseTranscript("failures", source, names);

describe("failures", () => {
  test.each(exchanges)("$title", async ({ profile, turns }) => {
    const send = states[profile]();
    for (const { sent, reply } of turns) {
      expectReply(await send(sent), reply);
    }
  });
});
