import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { HostCheck, type HostCheckOptions } from "../../src/protocol/host-check.ts";
import { silentLog } from "../../src/protocol/log.ts";

function checkOf(options: HostCheckOptions = {}, bound?: string) {
  const clock = new FakeClock();
  const lines: object[] = [];
  const log = { ...silentLog, warn: (fields: object) => void lines.push(fields) };
  const check = new HostCheck({ log, running: { clock } }, options, bound);
  const asks = (host?: string, origin?: string, site?: string) =>
    check.refusal({ host, origin, site });
  return { asks, check, clock, lines };
}

describe("the Host header", () => {
  test.each(["localhost", "LOCALHOST:80", "127.0.0.1:65535", "[::1]", "[::1]:8000"])(
    "%s is served by default",
    (host) => {
      const { asks } = checkOf();
      expect(asks(host)).toBeUndefined();
      // The second request takes another code path.
      expect(asks(host)).toBeUndefined();
    },
  );

  test.each(["evil.example", "localhost:123456", "localhost.evil.example", "10.0.0.1", undefined])(
    "%s is not",
    (host) => {
      const { asks } = checkOf();
      expect(asks("localhost")).toBeUndefined();
      expect(asks(host)).toBe(
        `this server does not serve the host name ${host}; see the hosts option (--hosts)`,
      );
    },
  );

  test("the bound address, listed names and any name are served if the options say so", () => {
    expect(checkOf({}, "10.0.0.1").asks("10.0.0.1:80")).toBeUndefined();
    const listed = checkOf({ hosts: ["Api.Example", "b.example:81"] }, "10.0.0.1");
    expect(listed.asks("api.example:80")).toBeUndefined();
    expect(listed.asks("b.example:81")).toBeUndefined();
    for (const host of ["b.example:82", "localhost", "10.0.0.1"]) {
      expect(listed.asks(host)).toContain(host);
    }
    expect(checkOf({ hosts: "any" }).asks("evil.example")).toBeUndefined();
    expect(checkOf({ hosts: "any" }).asks(undefined)).toBeUndefined();
  });

  test("options of another type are refused", () => {
    expect(() => checkOf({ hosts: "localhost" as never })).toThrow(
      'hosts must be "any" or an array of names, not "localhost"',
    );
    expect(() => checkOf({ origins: "*" as never })).toThrow(
      'origins must be an array or a function, not "*"',
    );
  });
});

describe("the Origin header", () => {
  const own = "this server does not serve pages of other sites; see the origins option";
  test.each([
    ["no page", undefined, undefined, undefined],
    ["the address bar", undefined, "none", undefined],
    ["its own page", undefined, "same-origin", undefined],
    ["a GET of another page", undefined, "cross-site", own],
    ["a GET of a neighbour", undefined, "same-site", own],
    ["its own page over HTTP", "http://LOCALHOST:80", "same-origin", undefined],
    ["its own page over HTTPS", "https://localhost:80", undefined, undefined],
    ["a listed page", "https://app.EXAMPLE", "cross-site", undefined],
  ] as const)("%s", (_, origin, site, refusal) => {
    const { asks } = checkOf({ origins: ["https://App.example"] });
    expect(asks("localhost:80", origin, site)).toBe(refusal);
  });

  test.each([
    ["http://localhost:81", undefined],
    ["ftp://localhost:80", undefined],
    ["null", undefined],
    ["https://evil.example", undefined],
    ["http://localhost:80", "cross-site"],
  ])("%s is refused with the site %s", (origin, site) => {
    const { asks } = checkOf({ origins: ["null"] });
    expect(asks("localhost:80", origin, site)).toBe(
      `this server does not serve pages of ${origin}; see the origins option`,
    );
  });

  test("a function lists origins only by true, and not by throwing", () => {
    const { check } = checkOf({
      origins: (origin) => {
        if (origin === "https://a.example") return true;
        if (origin === "https://b.example") return "yes" as never;
        throw new Error("no");
      },
    });
    expect(check.allows("https://a.example")).toBe(true);
    expect(check.allows("https://b.example")).toBe(false);
    expect(check.allows("https://c.example")).toBe(false);
    expect(check.allows(undefined)).toBe(false);
  });
});

test("refused requests are logged once a minute, with their number and short headers", () => {
  const { asks, clock, lines } = checkOf();
  const reason = asks("x".repeat(128));
  asks("y".repeat(129), "z".repeat(200));
  clock.advance(59_999);
  asks("evil.example");
  expect(lines).toEqual([{ host: "x".repeat(128), origin: undefined, reason, unlogged: 0 }]);
  clock.advance(1);
  asks("y".repeat(129), "z".repeat(200));
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatchObject({
    host: `${"y".repeat(128)}…`,
    origin: `${"z".repeat(128)}…`,
    unlogged: 2,
  });
  clock.advance(60_000);
  asks("evil.example");
  expect(lines[2]).toMatchObject({ unlogged: 0 });
});
