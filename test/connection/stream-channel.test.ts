import { createServer, type Methods, silentLog } from "callwire";
import {
  type ByteListener,
  type ByteStream,
  Connection,
  StreamChannel,
  type StreamChannelOptions,
} from "callwire/connection";
import { contentLengthFraming, lengthPrefixFraming, newlineFraming } from "callwire/framing";
import { describe, expect, test } from "vitest";

/** A stream whose other side is the test. */
class HandStream implements ByteStream {
  readonly writes: string[] = [];
  bufferedBytes = 0;
  paused = false;
  ended = false;
  /** Whether written bytes stay in the buffer. */
  clogged = false;
  #listener: ByteListener | undefined;

  get listener(): ByteListener {
    if (this.#listener === undefined) throw new Error("nobody listens");
    return this.#listener;
  }

  listen(listener: ByteListener): void {
    this.#listener = listener;
  }

  write(data: string | Uint8Array): void {
    this.writes.push(Buffer.from(data).toString());
    if (this.clogged) this.bufferedBytes += data.length;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  end(): void {
    this.ended = true;
  }

  destroy(): void {
    this.ended = true;
  }

  receive(...texts: string[]): void {
    this.listener.data(Buffer.from(texts.map((text) => `${text}\n`).join("")));
  }

  drain(): void {
    this.bufferedBytes = 0;
    this.listener.drain();
  }
}

function serve(methods: Methods, options: Partial<StreamChannelOptions> = {}) {
  const stream = new HandStream();
  const channel = new StreamChannel(stream, {
    framing: newlineFraming,
    maxMessageBytes: 1000,
    ...options,
  });
  const connection = new Connection(channel, {
    service: createServer(methods, { log: silentLog }),
    transport: { kind: "hand", headers: {}, remoteAddress: undefined },
  });
  return { stream, connection };
}

const call = (id: number, method = "echo"): string =>
  `{"jsonrpc":"2.0","method":"${method}","params":[${id}],"id":${id}}`;
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("messages that leave in one turn", () => {
  const methods = { echo: (value: unknown) => value, later: async (value: unknown) => value };

  test.each([newlineFraming, contentLengthFraming, lengthPrefixFraming])(
    "leave in one write ($name)",
    async (framing) => {
      const { stream } = serve(methods, { framing });
      const calls = Array.from({ length: 100 }, (_, id) => call(id));
      stream.listener.data(Buffer.from(framing.encodeAll(calls)));
      await turn();
      expect(stream.writes).toHaveLength(1);
    },
  );

  test("leave in one write when their handlers made promises", async () => {
    const { stream } = serve(methods);
    stream.receive(...Array.from({ length: 100 }, (_, id) => call(id, "later")));
    await turn();
    expect(stream.writes).toHaveLength(1);
    expect(stream.writes[0]?.trim().split("\n")).toHaveLength(100);
  });

  test("may wait for what else is read in this turn, as those of clients do", async () => {
    const { stream } = serve(methods, { defer: setImmediate });
    for (const id of [1, 2, 3]) {
      stream.receive(call(id));
      await Promise.resolve();
    }
    expect(stream.writes).toEqual([]);
    await turn();
    expect(stream.writes).toHaveLength(1);
    expect(stream.writes[0]?.trim().split("\n")).toHaveLength(3);
  });
});

describe("a stream that does not drain", () => {
  const filler = "x".repeat(100);

  test("stops reading, and messages that arrived with the last chunk wait", async () => {
    const answered: number[] = [];
    const big = (id: number) => {
      answered.push(id);
      return filler;
    };
    const { stream } = serve({ big }, { holdAboveBytes: 300 });
    stream.clogged = true;
    stream.receive(...[1, 2, 3, 4, 5, 6].map((id) => call(id, "big")));
    expect(stream.paused).toBe(true);
    expect(answered).toEqual([1, 2, 3]);
    await turn();
    stream.drain();
    expect(answered).toEqual([1, 2, 3, 4, 5, 6]);
    expect(stream.paused).toBe(true);
    stream.drain();
    expect(stream.paused).toBe(false);
    expect(stream.writes.join("").trim().split("\n")).toHaveLength(6);
  });

  test("is distinguished from one that drains at once", async () => {
    const { stream } = serve({ big: () => filler }, { holdAboveBytes: 300 });
    stream.receive(...[1, 2, 3, 4, 5, 6].map((id) => call(id, "big")));
    expect(stream.paused).toBe(false);
    await turn();
    expect(stream.writes).toHaveLength(2);
  });

  test("gets no more than it may buffer, and the rest as it drains", async () => {
    const { stream } = serve({ later: async () => filler }, { holdAboveBytes: 300 });
    stream.clogged = true;
    stream.receive(...[1, 2, 3, 4, 5, 6].map((id) => call(id, "later")));
    await turn();
    const lines = () => stream.writes.join("").trim().split("\n").length;
    expect(lines()).toBe(3);
    expect(stream.paused).toBe(true);
    stream.drain();
    expect(lines()).toBe(6);
    stream.drain();
    expect(stream.paused).toBe(false);
  });

  test("that is disconnected gets nothing more", async () => {
    const { stream, connection } = serve({ later: async () => filler }, { holdAboveBytes: 300 });
    stream.clogged = true;
    stream.receive(...[1, 2, 3, 4, 5, 6].map((id) => call(id, "later")));
    await turn();
    void connection.close("slow-reader");
    expect(stream.ended).toBe(true);
    expect(stream.writes.join("").trim().split("\n")).toHaveLength(3);
  });

  test("and then ends forgets what waits", () => {
    const answered: number[] = [];
    const { stream, connection } = serve(
      { big: (id: number) => answered.push(id) && filler },
      { holdAboveBytes: 100 },
    );
    stream.clogged = true;
    stream.receive(call(1, "big"), call(2, "big"));
    stream.listener.end();
    stream.drain();
    expect(answered).toEqual([1]);
    expect(connection.isOpen).toBe(false);
  });
});

test("a message that is too long is skipped, or ends the stream if that option is set", async () => {
  const patient = serve({ echo: (value: unknown) => value });
  patient.stream.receive("x".repeat(2000), call(1));
  await turn();
  expect(patient.stream.writes.join("")).toContain('"result":1');
  expect(patient.stream.ended).toBe(false);

  const strict = serve({ echo: (value: unknown) => value }, { cutOversize: true });
  strict.stream.receive("x".repeat(2000), call(1));
  expect(strict.stream.writes.join("")).toMatch(/^\{"jsonrpc":"2.0","error":\{"code":-32600.*\n$/);
  expect(strict.stream.ended).toBe(true);
  expect(await strict.connection.closed).toMatchObject({
    message: expect.stringContaining("longer"),
  });
});

test("a last line without a line feed is answered before the end", async () => {
  const { stream, connection } = serve({ echo: (value: unknown) => value });
  stream.listener.data(Buffer.from(call(1)));
  stream.listener.end();
  expect(stream.writes).toEqual(['{"jsonrpc":"2.0","result":1,"id":1}\n']);
  expect(await connection.closed).toBeUndefined();
});

test("an end in the middle of a message is reported", async () => {
  const { stream, connection } = serve({});
  stream.listener.data(Buffer.from('{"jsonrpc"'));
  stream.listener.end();
  expect(await connection.closed).toMatchObject({
    message: "The stream ended in the middle of a message.",
  });
});

test("bytes are unreadable for a listener that takes only text", () => {
  const stream = new HandStream();
  const options = { framing: lengthPrefixFraming, maxMessageBytes: 1000 };
  const faults: unknown[] = [];
  new StreamChannel(stream, options).listen({
    message: () => faults.push("a message"),
    fault: (fault) => faults.push(fault),
    drain: () => {},
    end: () => {},
  });
  const frame = lengthPrefixFraming.encodeBytes?.(Uint8Array.of(0, 0, 0, 0, 1, 0, 5));
  stream.listener.data(frame as Uint8Array);
  expect(faults).toEqual([{ kind: "unreadable", message: "a message must be text" }]);
});

test.each(["a", "ä"])(
  "a queued long message of %s counts as its bytes, and is sent in order",
  (character) => {
    const stream = new HandStream();
    const channel = new StreamChannel(stream, { framing: newlineFraming, maxMessageBytes: 1000 });
    const long = character.repeat(70_000);
    for (const text of ["before", long, "after"]) channel.send(text);
    const bytes = Buffer.byteLength(`before${long}\nafter`);
    expect(channel.bufferedBytes).toBe(bytes);
    channel.close();
    expect(stream.writes.join("")).toBe(`before\n${long}\nafter\n`);
  },
);
