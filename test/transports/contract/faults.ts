import { ErrorCode } from "callwire";
import { describe, expect, test } from "vitest";
import { socketBytes } from "../socket-bytes.ts";
import { Session, type Wire } from "./wire.ts";

const echo = '{"jsonrpc":"2.0","method":"echo","params":["hi"],"id":1}';
const echoed = { jsonrpc: "2.0", result: "hi", id: 1 };

/** Messages that are invalid, and messages that are too many or too long. */
export function testFaults(wire: Wire): void {
  const { duplex = true, oversize = "answer", shared = true } = wire;
  const { garbage = "cut", measured = true, hops = 1 } = wire;

  describe("faults", () => {
    test("garbage is answered with an error, and the next message is served", async () => {
      const session = await Session.start(wire);
      for (const garbage of ["hello", '{"jsonrpc":', '{"a":1}}', "\u{feff}{}"]) {
        const [answer, after] = await ask(session, [garbage, echo]);
        expect(answer).toEqual({
          jsonrpc: "2.0",
          error: { code: ErrorCode.ParseError, message: "Parse error" },
          id: null,
        });
        expect(after).toEqual(echoed);
      }
    });

    test("JSON that is not a request is answered with an error", async () => {
      const session = await Session.start(wire);
      for (const text of ["1", "null", '"text"', "{}", "[]", '{"jsonrpc":"2.0","id":5}']) {
        const [answer, after] = await ask(session, [text, echo]);
        expect(answer).toMatchObject({ error: { code: ErrorCode.InvalidRequest } });
        expect(after).toEqual(echoed);
      }
    });

    test("a message over the limit fails its call", async () => {
      const session = await Session.start(wire, { maxMessageBytes: 10_000 });
      const client = await session.client();
      const failure = await client
        .call("echo", ["x".repeat(20_000)])
        .catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(Error);
      if (oversize === "answer") {
        expect(failure).toMatchObject({ name: "RpcError", code: ErrorCode.InvalidRequest });
        expect(await client.call("echo", ["small"])).toBe("small");
      }
      if (!shared) return;
      expect(await (await session.client()).call("echo", ["small"])).toBe("small");
    });

    test("a message of exactly the limit is served, counted in bytes", async () => {
      const session = await Session.start(wire, { maxMessageBytes: 200 });
      const frame = '{"jsonrpc":"2.0","method":"echo","params":[""],"id":1}';
      const [fits] = await ask(session, [
        frame.replace('""', `"${"x".repeat(200 - frame.length)}"`),
      ]);
      expect(fits).toHaveProperty("result");
      const [exceeds] = await ask(session, [
        frame.replace('""', `"${"x".repeat(201 - frame.length)}"`),
      ]);
      expect(exceeds).toMatchObject({ error: { code: ErrorCode.InvalidRequest }, id: null });
    });

    test("a reply over the limit becomes an error", async () => {
      const client = await (await Session.start(wire, { maxReplyLength: 1000 })).client();
      await expect(client.call("repeat", ["x", 2000])).rejects.toMatchObject({
        code: ErrorCode.ReplyTooLarge,
      });
      expect(await client.call("repeat", ["x", 20])).toBe("x".repeat(20));
    });

    if (!duplex) return;

    if (wire.bytes) {
      test("bytes that are not UTF-8 are answered with an error", async () => {
        const raw = await (await Session.start(wire)).raw();
        raw.sendBytes?.(Uint8Array.of(0x22, 0xff, 0x22));
        expect(await raw.inbox.message()).toMatchObject({
          error: { code: ErrorCode.ParseError },
          id: null,
        });
        raw.send(echo);
        expect(await raw.inbox.message()).toEqual(echoed);
      });
    }

    if (garbage === "cut") {
      test("a peer that sends only garbage is disconnected", async () => {
        const raw = await (await Session.start(wire)).raw();
        for (let i = 0; i < 20; i++) raw.send("garbage");
        await raw.inbox.drained();
      });
    } else {
      test("a peer that sends only garbage is still answered", async () => {
        const raw = await (await Session.start(wire)).raw();
        for (let i = 0; i < 20; i++) raw.send("garbage");
        raw.send(echo);
        for (let i = 0; i < 20; i++) {
          expect(await raw.inbox.message()).toMatchObject({
            error: { code: ErrorCode.ParseError },
          });
        }
        expect(await raw.inbox.message()).toEqual(echoed);
      });
    }

    if (!shared || !measured) return;

    test("a peer that never reads is disconnected, and the others do not notice", async () => {
      const session = await Session.start(wire, { maxBufferedBytes: 64 * 1024 });
      const client = await session.client();
      const raw = await session.raw();
      raw.pause();
      // Each notification has a kibibyte, and there may be a proxy on each hop.
      const most = Math.ceil((2 * hops * socketBytes) / 1024) + 64 * 1024;
      raw.send(
        JSON.stringify({ jsonrpc: "2.0", method: "flood", params: { key: "f", most }, id: 1 }),
      );
      await client.api.seen({ event: "f stopped" });
      expect(await client.api.counted({ key: "f" })).toBeLessThan(most);
      expect(await client.call("echo", ["fine"])).toBe("fine");
    });
  });
}

/** Sends each payload after the answer to the one before. */
async function ask(session: Session, payloads: readonly string[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  if (session.host.exchange !== undefined) {
    for (const text of payloads) {
      answers.push(JSON.parse((await session.host.exchange(text)) ?? "null"));
    }
    return answers;
  }
  const raw = await session.raw();
  for (const text of payloads) {
    raw.send(text);
    answers.push(await raw.inbox.message());
  }
  raw.kill();
  return answers;
}
