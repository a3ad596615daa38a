import { redactor } from "callwire/observability";
import { expect, test } from "vitest";

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("a member is hidden by its name, at any depth and in any spelling", () => {
  const redact = redactor();
  const value = { a: [{ PASSWORD: 1, "access-token": 2, Set_Cookie: 3 }], passwords: 4, tokens: 5 };
  expect(plain(redact(value, "params"))).toEqual({
    a: [{ PASSWORD: "[redacted]", "access-token": "[redacted]", Set_Cookie: "[redacted]" }],
    passwords: 4,
    tokens: 5,
  });
});

test("own keys take the place of the usual ones", () => {
  const redact = redactor({ keys: ["ssn"] });
  expect(plain(redact({ ssn: 1, password: 2 }, "params"))).toEqual({
    ssn: "[redacted]",
    password: 2,
  });
});

test.each([
  ["params.user.name", { user: { name: "[redacted]", age: 1 }, list: [1, { x: 2 }] }],
  ["params.user", { user: "[redacted]", list: [1, { x: 2 }] }],
  ["params.list[1].x", { user: { name: "n", age: 1 }, list: [1, { x: "[redacted]" }] }],
  ["params.list.*", { user: { name: "n", age: 1 }, list: ["[redacted]", "[redacted]"] }],
  ["*.user.*", { user: { name: "[redacted]", age: "[redacted]" }, list: [1, { x: 2 }] }],
  ["result.user", { user: { name: "n", age: 1 }, list: [1, { x: 2 }] }],
  ["params", "[redacted]"],
])("the path %s", (path, expected) => {
  const value = { user: { name: "n", age: 1 }, list: [1, { x: 2 }] };
  expect(plain(redactor({ paths: [path] })(value, "params"))).toEqual(expected);
  expect(value.user.name).toBe("n");
});

test("a body is cut where it gets too long or too deep", () => {
  const redact = redactor({ maxLength: 50, maxDepth: 3 });
  expect(redact("x".repeat(60), "params")).toBe(`${"x".repeat(50)}… 10 more`);
  expect(JSON.stringify(redact(Array(1000).fill("0123456789"), "params")).length).toBeLessThan(150);
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`name${i}`, i]));
  expect(JSON.stringify(redact(many, "params")).length).toBeLessThan(200);
  expect(plain(redact({ a: { b: { c: { d: 1 } } } }, "params"))).toEqual({
    a: { b: { c: "[deeper]" } },
  });
});

test("values that are not JSON do no harm", () => {
  const redact = redactor();
  const circle: Record<string, unknown> = { name: "c" };
  circle.self = circle;
  expect(() => JSON.stringify(redact(circle, "result"))).not.toThrow();
  const hostile = {
    get thrower(): never {
      throw new Error("no");
    },
    big: 1n,
    when: new Date(0),
    run: () => {},
  };
  expect(plain(redact({ hostile }, "result"))).toEqual({ hostile: "[unreadable]" });
  expect(plain(redact({ big: 1n, when: new Date(0), run: () => {} }, "result"))).toEqual({
    big: "1",
    when: "1970-01-01T00:00:00.000Z",
    run: "[function]",
  });
  const own = JSON.parse('{"__proto__":{"polluted":true}}');
  expect(Object.keys(redact(own, "params") as object)).toEqual(["__proto__"]);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});
