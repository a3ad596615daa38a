import { createServer, stream } from "callwire";
import { type ByteListener, type ByteStream, Connection, StreamChannel } from "callwire/connection";
import { newlineFraming } from "callwire/framing";
import { expect, test } from "vitest";
import { transport } from "../connection/hand-channel.ts";
import { heapUsed } from "../heap.ts";

// A substring refers to the whole string: each call that waited kept everything that had arrived in
// one chunk with its id.

const MIB = 1_048_576;
const calls = 100;
/** A line that is ignored, and fills the chunk. */
const filler = `${" ".repeat(900_000)}\n`;
const name = "a/name/that/is/not/short";

const request = (method: string, id: string): string =>
  `{"jsonrpc":"2.0","method":"${method}","params":[1],"id":${id}}`;

test.each<[string, (i: number) => string]>([
  ["ids", (i) => request("wait", `"${i}${"i".repeat(40)}"`)],
  ["ids with escapes", (i) => request("wait", `"${i}${"i".repeat(40)}\\n"`)],
  ["ids of many digits", (i) => request("wait", `${i + 1}${"7".repeat(40)}`)],
  ["names", (i) => request(name, `${i}`)],
  ["batches", (i) => `[${request("wait", `${i}`)},${request("wait", `"b${i}"`)}]`],
  ["ids of streams", (i) => request("items", `"${i}${"i".repeat(40)}"`)],
])("calls that wait do not keep the chunk that brought their %s", (_, payload) => {
  const never = () => new Promise(() => {});
  const service = createServer({
    wait: never,
    [name]: never,
    // biome-ignore lint/correctness/useYield: it never comes to that.
    items: stream({}, async function* () {
      await never();
    }),
  });
  let listener: ByteListener | undefined;
  const wire: ByteStream = {
    bufferedBytes: 0,
    listen: (heard) => {
      listener = heard;
    },
    write() {},
    pause() {},
    resume() {},
    end() {},
    destroy() {},
  };
  const channel = new StreamChannel(wire, { framing: newlineFraming, maxMessageBytes: MIB });
  const { origin } = new Connection(channel, { service, transport });
  const hear = (i: number) => listener?.data(Buffer.from(`${payload(i)}\n${filler}`));
  hear(0);
  const before = heapUsed();
  for (let i = 1; i < calls; i++) hear(i);
  expect(origin.inFlight).toBeGreaterThanOrEqual(calls);
  // All chunks together are 90 MB.
  expect(heapUsed() - before).toBeLessThan(10 * MIB);
});
