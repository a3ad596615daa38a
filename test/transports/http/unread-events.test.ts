import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { createServer, silentLog, stream } from "callwire";
import { fetchHandler } from "callwire/http";
import { FakeClock } from "callwire/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { NodeEventSink } from "../../../src/http/node-event-sink.ts";
import { WireBuffers } from "../../../src/protocol/memory-bounds.ts";
import { deferred } from "../contract/wire.ts";
import { serve } from "./wire.ts";

const item = "x".repeat(100_000);
const body = '{"jsonrpc":"2.0","method":"items","id":1}';

/** A stream without an end, which reports when it was ended anyway. */
function endless() {
  const ended = deferred<void>();
  const items = stream({}, async function* () {
    try {
      for (;;) yield item;
    } finally {
      ended.resolve();
    }
  });
  return { methods: { items }, ended: ended.promise };
}

describe("a reader of an event stream that never reads", () => {
  test.each([
    ["a POST", `POST /rpc HTTP/1.1\r\nAccept: text/event-stream\r\n`],
    ["the plain form", `POST /rpc/stream HTTP/1.1\r\n`],
  ])("is disconnected in Node, and its generator ends: %s", async (_, start) => {
    const { methods, ended } = endless();
    const { port } = await serve(methods, { writeTimeoutMs: 20, graceMs: 1 });
    const socket = connect(port, "127.0.0.1").pause();
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    socket.write(
      `${start}Host: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await ended;
  });

  test("is disconnected behind fetch, and its generator ends", async () => {
    const clock = new FakeClock();
    const { methods, ended } = endless();
    const server = createServer(methods, { log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const handle = fetchHandler(server, { clock, writeTimeoutMs: 5_000, graceMs: 1_000 });
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    const request = new Request("http://localhost/rpc", { method: "POST", headers, body });
    const response = await handle(request);
    const reader = response.body?.getReader();
    // A client that reads, however slowly, is not disconnected.
    for (let i = 0; i < 10; i++) {
      clock.advance(3_000);
      expect((await reader?.read())?.done).toBe(false);
    }
    let isEnded = false;
    void ended.then(() => {
      isEnded = true;
    });
    while (!isEnded) {
      clock.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const rest = async (): Promise<void> => {
      while ((await reader?.read())?.done === false);
    };
    await expect(rest()).rejects.toThrow("the client does not read its events");
  });
});

describe("how long a reader may take nothing", () => {
  const buffers = new WireBuffers(1_000_000);

  function response() {
    const timeouts: number[] = [];
    const written: (() => void)[] = [];
    const fake = {
      destroyed: false,
      writableEnded: false,
      writableLength: 0,
      write(_: string, done: () => void) {
        written.push(done);
      },
      end() {
        fake.writableEnded = true;
      },
      setTimeout: (ms: number) => void timeouts.push(ms),
    };
    return { fake, timeouts, written, raw: fake as unknown as ServerResponse };
  }

  test("counts only while something waits for it, also after the end", () => {
    const { fake, timeouts, written, raw } = response();
    const sink = new NodeEventSink(raw, { buffers, writeTimeoutMs: 10_000 });
    sink.write("a");
    expect(timeouts).toEqual([]);
    fake.writableLength = 5;
    sink.write("b");
    sink.write("c");
    written[1]?.();
    expect(timeouts).toEqual([10_000]);
    fake.writableLength = 0;
    written[2]?.();
    expect(timeouts).toEqual([10_000, 0]);
    fake.writableLength = 5;
    sink.end();
    expect(timeouts).toEqual([10_000, 0, 10_000]);
  });

  test("is without a limit if that is 0", () => {
    const { fake, timeouts, raw } = response();
    fake.writableLength = 5;
    new NodeEventSink(raw, { buffers, writeTimeoutMs: 0 }).write("a");
    expect(timeouts).toEqual([]);
  });
});
