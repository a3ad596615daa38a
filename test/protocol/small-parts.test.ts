import { describe, expect, onTestFinished, test } from "vitest";
import { base64, base64Url, fromBase64 } from "../../src/protocol/base64.ts";
import { LinkedList } from "../../src/protocol/linked-list.ts";
import { SharedRefusal } from "../../src/protocol/parse.ts";
import { absoluteAddress, fetchAddress, httpUrl, isRelative } from "../../src/protocol/url.ts";

describe("addresses", () => {
  test("are relative if they start with a slash or a dot", () => {
    for (const address of ["/rpc", "./rpc", "../rpc"]) expect(isRelative(address)).toBe(true);
    for (const address of ["rpc", "http://a.example", ""]) expect(isRelative(address)).toBe(false);
  });

  test("count from the base, or else from the page", () => {
    expect(absoluteAddress("ws://a.example/rpc", undefined)).toBe("ws://a.example/rpc");
    expect(absoluteAddress("/rpc", "http://a.example/x")).toBe("http://a.example/rpc");
    expect(() => absoluteAddress("/rpc?token=1", undefined)).toThrow(
      /^the address must be absolute .*, not \/rpc$/,
    );
    Reflect.set(globalThis, "location", { href: "http://page.example/a/b" });
    onTestFinished(() => void Reflect.deleteProperty(globalThis, "location"));
    expect(absoluteAddress("./rpc", undefined)).toBe("http://page.example/a/rpc");
    expect(absoluteAddress("/rpc", "http://a.example/x")).toBe("http://a.example/rpc");
  });

  const wrong = (shown: string) => new RegExp(`^the address must be http.*, not ${shown}$`);
  test("of fetch are relative or of HTTP", () => {
    for (const address of ["/rpc", "http://a.example", "HTTPS://a.example", "rpc"]) {
      expect(fetchAddress(address)).toBe(address);
    }
    expect(() => fetchAddress("ws://a.example")).toThrow(wrong("ws://a.example"));
  });

  test("of HTTP are shown without secrets if they are wrong", () => {
    expect(httpUrl("https://a.example/rpc").href).toBe("https://a.example/rpc");
    expect(() => httpUrl("")).toThrow(wrong('""'));
    expect(() => httpUrl("ftp://me:pw@a.example/x?token=1#y")).toThrow(wrong("ftp://a.example/x"));
    expect(() => httpUrl("http://me@a.example/")).toThrow(
      "put credentials into headers, not into the URL",
    );
  });
});

test("bytes are written as base64 in both alphabets, and read in the usual one", () => {
  const bytes = new Uint8Array([251, 255, 254, 0]);
  expect(base64(bytes)).toBe("+//+AA==");
  expect(base64(new Uint8Array(0))).toBe("");
  expect(base64Url(bytes)).toBe("-__-AA");
  expect(fromBase64("+//+AA==")).toEqual(bytes);
  for (const text of ["-__-AA", "a", "é"]) expect(() => fromBase64(text)).toThrow();
  const many = Buffer.from(Uint8Array.from({ length: 20_000 }, (_, i) => i));
  expect(base64(many)).toBe(many.toString("base64"));
  expect(many.equals(fromBase64(base64(many)))).toBe(true);
});

test("a list has its members in order, and each leaves once", () => {
  const of = (name: string) => ({ name, prev: undefined, next: undefined }) as never;
  const list = new LinkedList<never>();
  const [a, b, c] = [of("a"), of("b"), of("c")];
  for (const member of [a, b, c]) list.add(member);
  expect([list.size, list.list()]).toEqual([3, [a, b, c]]);
  expect([list.remove(b), list.remove(b), list.remove(of("stranger"))]).toEqual([
    true,
    false,
    false,
  ]);
  expect([list.size, list.list(), list.first]).toEqual([2, [a, c], a]);
  expect(list.remove(c)).toBe(true);
  list.add(b);
  expect(list.list()).toEqual([a, b]);
  expect([list.remove(a), list.remove(b), list.size, list.first]).toEqual([
    true,
    true,
    0,
    undefined,
  ]);
});

test("a batch has a status if all its entries were refused with the same one", () => {
  const busy = { code: 1, message: "busy", status: 503 };
  const refusal = new SharedRefusal();
  expect(refusal.of(1)).toBeUndefined();
  refusal.add(busy);
  refusal.add({ code: 2, message: "other", status: 503 });
  refusal.add({ code: 1, message: "other", status: 429 });
  refusal.add({ code: 1, message: "none" });
  expect([refusal.of(1), refusal.of(2)]).toEqual([busy, undefined]);
  refusal.add(busy);
  expect(refusal.of(2)).toBe(busy);
});
