import { getEventListeners } from "node:events";
import { byteStream, bytes } from "callwire";
import { describe, expect, test } from "vitest";
import {
  attachedIn,
  inlined,
  isDescriptor,
  mayAttach,
  readAll,
} from "../../src/protocol/attachments.ts";
import { fileFault, ReceivedBytes } from "../../src/protocol/received-bytes.ts";
import { SentBytes, streamOf } from "../../src/protocol/sent-bytes.ts";

const abc = new TextEncoder().encode("abc");
const data = "YWJj";
const text = (stream: unknown): Promise<string> => new Response(stream as ReadableStream).text();
const opening = (content: Uint8Array = abc) => ({ open: () => streamOf(content), discard() {} });

describe("a descriptor of bytes", () => {
  test.each([
    { part: 0 },
    { part: 1, size: 0 },
    { data: "" },
    { part: 1, size: 3, type: "a/b", name: "n", lastModified: 5 },
  ])("%j is one", (value) => {
    expect(isDescriptor(value)).toBe(true);
  });

  test.each([
    null,
    "part",
    [],
    {},
    { part: 1, data: "" },
    { part: -1 },
    { part: 1.5 },
    { part: "1" },
    { data: 5 },
    { part: 1, size: -1 },
    { part: 1, size: "3" },
    { part: 1, type: 5 },
    { part: 1, name: 5 },
    { part: 1, lastModified: "5" },
  ])("%j is not", (value) => {
    expect(isDescriptor(value)).toBe(false);
  });

  test("is found by its path, in the order of the parts", () => {
    const json = { a: { part: 2 }, b: { c: { part: 1, size: 3 } }, d: { data } };
    const types = { blob: ["/a"], bytes: ["/b/c", "/d"], date: ["/x"] };
    expect(attachedIn(json, types)).toEqual([
      { part: 1, size: 3, kind: "bytes", path: "/b/c" },
      { part: 2, kind: "blob", path: "/a" },
    ]);
    const wrong = "the parts must have the numbers 1, 2, 3, … and one value each";
    expect(() => attachedIn([{ part: 2 }], { blob: ["/0"] })).toThrow(wrong);
    expect(() => attachedIn([{ part: 1 }, { part: 1 }], { blob: ["/0", "/1"] })).toThrow(wrong);
    expect(() => attachedIn([], { blob: "/0" as never })).toThrow(
      'the type "blob" has no array of paths',
    );
  });

  test("may be at the path of a type of bytes", () => {
    for (const kind of ["bytes", "blob", "file", "stream"])
      expect(mayAttach({ [kind]: [] })).toBe(true);
    expect(mayAttach({ date: ["/a"] })).toBe(false);
  });
});

describe("received bytes", () => {
  const of = (content?: Uint8Array, max = 3) =>
    new ReceivedBytes(content === undefined ? undefined : opening(content), max);

  test("that are in the message become the value of their kind", async () => {
    const none = of();
    expect(none.value("bytes", data)).toEqual(abc);
    expect(none.value("bytes", { data })).toEqual(abc);
    expect(await text(none.value("stream", { data }))).toBe("abc");
    const blob = none.value("blob", { data, type: "a/b" }) as Blob;
    expect([blob instanceof File, blob.type, await blob.text()]).toEqual([false, "a/b", "abc"]);
    const file = none.value("file", { data, name: "n", type: "a/b", lastModified: 5 }) as File;
    expect([file.name, file.type, file.lastModified, await file.text()]).toEqual([
      "n",
      "a/b",
      5,
      "abc",
    ]);
    expect(none.value("file", { data })).toMatchObject({ name: "", type: "" });
    expect(() => none.value("blob", data)).toThrow("wrong form");
    expect(() => none.value("stream", { part: 1 })).toThrow("part 1 is missing");
  });

  test("that arrive are a stream, a Blob or a File, which can be read once", async () => {
    expect(await text(of(abc).value("stream", { part: 1 }))).toBe("abc");
    const described = { part: 1, size: 3, type: "a/b", name: "n", lastModified: 5 };
    for (const kind of ["blob", "file"] as const) {
      const arriving = () => of(abc).value(kind, described) as Blob;
      expect(arriving()).toMatchObject({ size: 3, type: "a/b" });
      expect(await arriving().text()).toBe("abc");
      expect(await text(arriving().stream())).toBe("abc");
      expect(await arriving().bytes()).toEqual(abc);
      expect(new Uint8Array(await arriving().arrayBuffer())).toEqual(abc);
      const once =
        "this file can be read only once; copy its bytes to read them again or to slice them";
      expect(() => arriving().slice()).toThrow(once);
      const read = arriving();
      await read.text();
      await expect(read.text()).rejects.toThrow(once);
    }
    expect(of(abc).value("file", described)).toMatchObject({ name: "n", lastModified: 5 });
    for (const kind of ["blob", "file", "bytes"] as const) {
      expect(() => of(abc).value(kind, { part: 1 })).toThrow("wrong form");
    }
  });

  test("must be as many as announced, and within the limit", async () => {
    const read = (size: number | undefined, max: number) =>
      text(of(abc, max).value("stream", size === undefined ? { part: 1 } : { part: 1, size }));
    expect(await read(3, 3)).toBe("abc");
    await expect(read(undefined, 2)).rejects.toMatchObject({
      data: { limit: "maxFileBytes", max: 2 },
      status: 413,
    });
    await expect(read(2, 3)).rejects.toMatchObject({
      code: -32602,
      data: "the message announced 2 bytes, and more arrived",
    });
    await expect(read(4, 4)).rejects.toMatchObject({
      data: "the message announced 4 bytes, and 3 arrived",
    });
  });

  test("are collected before streams", async () => {
    const received = of(abc);
    const part = (number: number, kind: "bytes" | "stream") => ({ part: number, kind, path: "" });
    await received.collect([part(1, "bytes"), part(2, "stream")], new Set(["bytes"] as const));
    expect(received.value("bytes", { part: 1 })).toEqual(abc);
    await expect(
      received.collect([part(1, "stream"), part(2, "bytes")], new Set(["bytes"] as const)),
    ).rejects.toThrow("the parts of streams must come last");
  });

  test("of a stream that is left are not read further", async () => {
    let reason: unknown;
    const stream = new ReadableStream<Uint8Array>({
      cancel: (why) => {
        reason = why;
      },
    });
    const received = new ReceivedBytes({ open: () => stream, discard() {} }, 3);
    await (received.value("stream", { part: 1 }) as ReadableStream).cancel("enough");
    expect(reason).toBe("enough");
  });

  test("are counted by what the message says about them", () => {
    const limits = { maxFiles: 1, maxFileBytes: 3 };
    const one = { part: 1, kind: "blob", path: "", size: 3 } as const;
    expect(fileFault([one], limits)).toBeUndefined();
    expect(fileFault([{ ...one, size: 4 }], limits)?.data).toMatchObject({ limit: "maxFileBytes" });
    expect(fileFault([one, one], limits)?.data).toMatchObject({ limit: "maxFiles", max: 1 });
    expect(fileFault([{ part: 1, kind: "stream", path: "" }], limits)).toBeUndefined();
  });

  test("are counted by their length if they are in the message", () => {
    const limits = { maxFiles: 1, maxFileBytes: 3 };
    const inside = (data: string) => fileFault([{ data, kind: "stream", path: "" }], limits)?.data;
    for (const data of ["", "YQ==", "YWI=", "YWJj"]) expect(inside(data)).toBeUndefined();
    for (const data of ["YWJjZA==", "YWJjZGU=", "YWJjZGVm"])
      expect(inside(data)).toMatchObject({ limit: "maxFileBytes", max: 3 });
    const below = { maxFiles: 1, maxFileBytes: 2 };
    expect(fileFault([{ data, kind: "stream", path: "" }], below)).toBeDefined();
  });
});

describe("bytes that are read as a whole", () => {
  const chunks = (...all: string[]) => new Blob(all).stream();

  test("are those of all chunks", async () => {
    expect(await readAll(streamOf(new Uint8Array(0)), 0)).toEqual(new Uint8Array(0));
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const chunk of ["a", "bc", "d", "efghij", "k"]) {
          controller.enqueue(new TextEncoder().encode(chunk));
        }
        controller.close();
      },
    });
    expect(new TextDecoder().decode(await readAll(stream, 11))).toBe("abcdefghijk");
  });

  test("are refused above the limit, and the rest is not read", async () => {
    await expect(readAll(chunks("abcd"), 3)).rejects.toThrow("there are more than 3 bytes");
  });

  test("leave nothing on the signal, however reading ends", async () => {
    const { signal } = new AbortController();
    await readAll(chunks("abc"), 3, signal);
    await expect(readAll(chunks("abcd"), 3, signal)).rejects.toThrow("more than 3 bytes");
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("have no chunk if there are none", async () => {
    const reader = streamOf(new Uint8Array(0)).getReader();
    expect((await reader.read()).done).toBe(true);
  });

  test("are left when the signal aborts", async () => {
    const before = AbortSignal.abort(new Error("gone"));
    await expect(readAll(new ReadableStream(), 3, before)).rejects.toThrow("gone");
    const controller = new AbortController();
    const reading = readAll(new ReadableStream(), 3, controller.signal);
    controller.abort(new Error("gone later"));
    await expect(reading).rejects.toThrow("gone later");
  });

  test("are written into the message for wires that carry nothing else", async () => {
    const json = { a: { part: 1, size: 3 }, b: { part: 2 } };
    const types = { bytes: ["/a"], stream: ["/b"] };
    let discarded = 0;
    const attachments = { ...opening(), discard: () => void discarded++ };
    expect(await inlined(json, types, attachments, 6)).toEqual({
      a: { size: 3, data },
      b: { data },
    });
    expect(json.a).toEqual({ part: 1, size: 3 });
    await expect(inlined(json, types, attachments, 5)).rejects.toThrow(RangeError);
    expect(discarded).toBe(2);
  });
});

describe("sent bytes", () => {
  test("have numbers, streams the last, and each stream is sent once", async () => {
    const sent = new SentBytes();
    const stream = streamOf(abc);
    const described = [
      sent.add(stream),
      sent.add(abc),
      sent.add(new Blob([abc], { type: "a/b" })),
      sent.add(new File([abc], "n", { type: "a/b", lastModified: 5 })),
    ];
    expect(sent.number()).toBe(sent);
    expect(described).toEqual([
      { part: 4 },
      { part: 1, size: 3 },
      { part: 2, type: "a/b", size: 3 },
      { part: 3, name: "n", type: "a/b", size: 3, lastModified: 5 },
    ]);
    for (const part of [1, 2, 3, 4]) expect(await text(sent.open(part))).toBe("abc");
    expect(await text(sent.open(1))).toBe("abc");
    expect(() => sent.open(4)).toThrow("the stream was sent before, and is used up");
    expect(() => sent.open(5)).toThrow("there is no part 5");
    expect([sent.whole(1), sent.whole(4), sent.whole(5)]).toEqual([abc, undefined, undefined]);
  });

  test("that will not be read are cancelled, unless they are being read", async () => {
    const cancelled: string[] = [];
    const stream = (name: string) =>
      new ReadableStream<Uint8Array>({ cancel: () => void cancelled.push(name) });
    const sent = new SentBytes();
    const opened = stream("opened");
    for (const value of [stream("unread"), opened, abc]) sent.add(value);
    sent.number().open(3);
    sent.discard();
    sent.discard();
    expect(cancelled).toEqual(["unread"]);
    expect(() => sent.open(2)).toThrow("used up");
  });
});

test("schemas of bytes accept their values alone, and describe them", () => {
  const base = { type: "string", contentEncoding: "base64" };
  const descriptor = { data: base, part: { type: "integer", minimum: 1 } };
  for (const [schema, value, described, message] of [
    [bytes(), abc, { ...base, "x-callwire-type": "bytes" }, "must be a Uint8Array"],
    [
      byteStream(),
      streamOf(abc),
      { type: "object", properties: descriptor, "x-callwire-type": "stream" },
      "must be a ReadableStream",
    ],
  ] as const) {
    const standard = schema["~standard"];
    expect(standard).toMatchObject({ version: 1, vendor: "callwire" });
    expect(standard.validate(value)).toEqual({ value });
    expect(standard.validate("abc")).toEqual({ issues: [{ message }] });
    for (const side of ["input", "output"] as const) {
      expect(standard.jsonSchema?.[side]({ target: "draft-2020-12" })).toEqual(described);
    }
  }
});
