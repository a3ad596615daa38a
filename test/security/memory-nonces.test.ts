import { memoryNonces, type NonceDecision } from "callwire/security/signing";
import { FakeClock } from "callwire/testing";
import fc from "fast-check";
import { expect, test } from "vitest";

const start = 1_800_000_000_000;

function store(options: Parameters<typeof memoryNonces>[0] = {}) {
  const clock = new FakeClock(start);
  const nonces = memoryNonces({ clock, ...options });
  /** A message of now that can be sent for another minute. */
  const take = (value: string, owner = "a"): NonceDecision =>
    nonces.take({ owner, value, createdAt: clock.now(), expiresAt: clock.now() + 60_000 });
  return { clock, nonces, take };
}

test("a nonce is new once for each owner", () => {
  const { take, nonces } = store();
  expect(take("n")).toBe("new");
  expect(take("n")).toBe("seen");
  expect(take("n", "b")).toBe("new");
  expect(nonces.size).toBe(2);
});

test("an owner and a nonce are not mixed up with others that read the same", () => {
  const { take } = store();
  expect(take("bc", "a")).toBe("new");
  expect(take("c", "ab")).toBe("new");
  expect(take("abc", "")).toBe("new");
});

test("a nonce is known for as long as its message could be sent again", () => {
  const { clock, nonces } = store();
  const nonce = { owner: "a", value: "n", createdAt: start, expiresAt: start + 120_000 };
  clock.advance(119_999);
  expect(nonces.take(nonce)).toBe("new");
  for (let i = 0; i < 100; i++) {
    expect(nonces.take({ ...nonce, expiresAt: clock.now() + 1 })).toBe("seen");
    clock.advance(1_000);
  }
});

test("when it is full it refuses, and takes again when nonces have expired", () => {
  const { clock, take, nonces } = store({ capacity: 3, quota: 3 });
  for (const value of ["1", "2", "3"]) expect(take(value)).toBe("new");
  expect(take("4")).toBe("full");
  // Nothing was forgotten to make room.
  for (const value of ["1", "2", "3"]) expect(take(value)).toBe("seen");
  clock.advance(240_001);
  expect(take("4")).toBe("new");
  expect(nonces.size).toBe(1);
});

test("one owner cannot use up the room of the others", () => {
  const { take } = store({ capacity: 100, quota: 2 });
  expect([take("1"), take("2"), take("3")]).toEqual(["new", "new", "full"]);
  expect(take("1", "b")).toBe("new");
});

test("messages from before the store was created are refused", () => {
  const { nonces, clock } = store({ fenceMs: 5_000 });
  const made = (createdAt: number) =>
    nonces.take({ owner: "a", value: `${createdAt}`, createdAt, expiresAt: createdAt + 60_000 });
  expect(made(start - 1_000)).toBe("too-old");
  expect(made(start + 4_000)).toBe("too-old");
  clock.advance(5_000);
  expect(made(start + 5_000)).toBe("new");
});

test("a clock that is set back allows no replays", () => {
  const { clock, nonces } = store();
  const nonce = { owner: "a", value: "n", createdAt: start, expiresAt: start + 60_000 };
  expect(nonces.take(nonce)).toBe("new");
  clock.advance(3_600_000);
  const later = clock.now();
  nonces.take({ owner: "a", value: "m", createdAt: later, expiresAt: later });
  clock.setTime(start);
  expect(nonces.take(nonce)).toBe("too-old");
});

test("a clock that is set forward and back neither drops a nonce nor refuses new ones", () => {
  const { clock, nonces, take } = store();
  const nonce = { owner: "a", value: "n", createdAt: start, expiresAt: start + 60_000 };
  expect(nonces.take(nonce)).toBe("new");
  clock.setTime(start + 3_600_000);
  expect(take("m")).toBe("new");
  clock.setTime(start);
  expect(nonces.take(nonce)).toBe("seen");
  expect(take("o")).toBe("new");
});

test("a clock that is set back does not keep nonces any longer", () => {
  const { clock, take, nonces } = store({ capacity: 2, quota: 2, fenceMs: -3_600_000 });
  clock.setTime(start - 3_600_000);
  expect([take("1"), take("2"), take("3")]).toEqual(["new", "new", "full"]);
  clock.advance(240_001);
  expect(take("3")).toBe("new");
  expect(nonces.size).toBe(1);
});

test("a nonce that would have to be kept longer than the store does is a mistake of the program", () => {
  const { nonces } = store({ windowMs: 1_000 });
  const nonce = { owner: "a", value: "n", createdAt: start, expiresAt: start + 1_001 };
  expect(() => nonces.take(nonce)).toThrow(RangeError);
});

test("it says the same as a plain Set", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), fc.string()), { maxLength: 500 }), (pairs) => {
      const { take } = store({ quota: 1_000 });
      const known = new Set<string>();
      for (const [owner, value] of pairs) {
        const name = JSON.stringify([owner, value]);
        expect(take(value, owner)).toBe(known.has(name) ? "seen" : "new");
        known.add(name);
      }
    }),
  );
});

test("a hundred thousand are all distinguished", () => {
  const { take, nonces } = store({ quota: 200_000 });
  const names = Array.from({ length: 100_000 }, (_, i) => `nonce ${i}`);
  const verdicts = (): Set<unknown> => new Set(names.map((name) => take(name)));
  expect(verdicts()).toEqual(new Set(["new"]));
  expect(verdicts()).toEqual(new Set(["seen"]));
  expect(nonces.size).toBe(100_000);
});
