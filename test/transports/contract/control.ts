import { createClient, ErrorCode, type Link } from "callwire";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import type { ContractMethods } from "../contract-methods.ts";
import { deferred, Session, type Wire } from "./wire.ts";

/** Messages about an open call: cancellation, progress and time. */
export function testControl(wire: Wire): void {
  const { duplex = true, streams = "credit" } = wire;

  describe("cancellation", () => {
    test("a signal ends the call here at once, and the handler's signal aborts", async () => {
      const client = await (await Session.start(wire)).client();
      const controller = new AbortController();
      const call = client.call("hold", { key: "a" }, { signal: controller.signal });
      await client.api.seen({ event: "a started" });
      controller.abort(new Error("enough"));
      await expect(call).rejects.toMatchObject({
        name: "WireError",
        code: "ABORTED",
        cause: new Error("enough"),
      });
      await client.api.seen({ event: "a aborted" });
    });

    test("one call is cancelled and the others continue", async () => {
      const client = await (await Session.start(wire)).client();
      const controller = new AbortController();
      const kept = client.api.hold({ key: "kept" });
      const given = client.call("hold", { key: "given up" }, { signal: controller.signal });
      await client.api.seen({ event: "kept started" });
      await client.api.seen({ event: "given up started" });
      controller.abort();
      await expect(given).rejects.toMatchObject({ code: "ABORTED" });
      await client.api.seen({ event: "given up aborted" });
      await client.api.note({ event: "kept released" });
      expect(await kept).toBe("released");
    });

    if (duplex) {
      for (const id of [1, 0, -1, "", "a", 1.5]) {
        test(`the id ${JSON.stringify(id)} can be cancelled, and is answered once`, async () => {
          const raw = await (await Session.start(wire)).raw();
          const send = (message: object): void =>
            raw.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
          send({ method: "deaf", params: { key: "k" }, id });
          send({ method: "seen", params: { event: "k started" }, id: "running" });
          expect(await raw.inbox.message()).toMatchObject({ id: "running" });
          send({ method: "$/cancelRequest", params: { id } });
          expect(await raw.inbox.message()).toMatchObject({
            error: { code: ErrorCode.RequestCancelled },
            id,
          });
          send({ method: "note", params: { event: "k released" }, id: "released" });
          expect(await raw.inbox.message()).toMatchObject({ id: "released" });
          send({ method: "seen", params: { event: "k done" }, id: "done" });
          expect(await raw.inbox.message()).toMatchObject({ id: "done" });
          send({ method: "echo", params: ["last"], id: "last" });
          expect(await raw.inbox.message()).toMatchObject({ id: "last" });
        });
      }
    }
  });

  if (duplex || streams !== "none") {
    describe("progress", () => {
      test("reports arrive in order and before the result", async () => {
        const client = await (await Session.start(wire)).client();
        const heard: unknown[] = [];
        const call = client.call(
          "reports",
          { count: 50 },
          { onProgress: (value) => heard.push(value) },
        );
        expect(await call).toBe(50);
        expect(heard).toEqual(Array.from({ length: 50 }, (_, i) => i));
      });

      test("each report restarts the timeout", async () => {
        const { link } = await (await Session.start(wire)).connect();
        const { clock, hurried, patient } = clientsOf(link);
        const progress = [deferred(), deferred(), deferred()];
        let reports = 0;
        const call = hurried.call(
          "steps",
          { key: "s", count: 3 },
          { onProgress: () => progress[reports++]?.resolve() },
        );
        for (let step = 1; step <= 3; step++) {
          clock.advance(900);
          await patient.api.note({ event: `s step ${step}` });
          await progress[step - 1]?.promise;
        }
        await patient.api.note({ event: "s released" });
        expect(await call).toBe("done");
        expect(clock.now()).toBe(2700);
      });

      test("and so does the timeout that travelled with the call", async () => {
        const client = await (await Session.start(wire)).client();
        const options = { timeoutMs: 30_000, onProgress() {} };
        expect(await client.call("renewed", undefined, options)).toBeGreaterThan(0);
        // The server's own minute continues.
        const own = { timeoutMs: 70_000, onProgress() {} };
        expect(await client.call("renewed", undefined, own)).toBe(0);
      });
    });
  }

  describe("time", () => {
    test("a call that takes too long is cancelled on both sides", async () => {
      const { link } = await (await Session.start(wire)).connect();
      const { clock, hurried, patient } = clientsOf(link);
      const call = hurried.api.hold({ key: "slow" });
      await patient.api.seen({ event: "slow started" });
      const outcome = expect(call).rejects.toMatchObject({ name: "WireError", code: "TIMEOUT" });
      clock.advance(1100);
      await outcome;
      await patient.api.seen({ event: "slow aborted" });
    });

    test("the caller's time travels and becomes the deadline of the call", async () => {
      const client = await (await Session.start(wire)).client();
      const withoutWord = Number(await client.api.deadline());
      expect(withoutWord).toBeGreaterThan(30_000);
      const hurried = Number(await client.with({ timeoutMs: 30_000 }).api.deadline());
      expect(hurried).toBeGreaterThan(0);
      expect(hurried).toBeLessThanOrEqual(30_000);
    });

    test("a server ends a call at its timeout, whatever its caller does", async () => {
      const session = await Session.start(wire);
      const request = { jsonrpc: "2.0", method: "hold", params: { key: "t" }, timeoutMs: 1, id: 1 };
      let reply: unknown;
      if (session.host.exchange !== undefined) {
        reply = JSON.parse((await session.host.exchange(JSON.stringify(request))) ?? "null");
      } else {
        const raw = await session.raw();
        raw.send(JSON.stringify(request));
        reply = await raw.inbox.message();
      }
      expect(reply).toMatchObject({ error: { code: ErrorCode.RequestTimeout }, id: 1 });
    });

    if (duplex) {
      test("a call that is made for another gets the rest of its time", async () => {
        const client = await (await Session.start(wire)).client();
        const left = Number(await client.with({ timeoutMs: 30_000 }).api.relayed_deadline());
        expect(left).toBeGreaterThan(0);
        expect(left).toBeLessThanOrEqual(30_000);
      });
    }
  });
}

/** Two clients of one link: the time of the first stands still until the test moves it. */
function clientsOf(link: Link) {
  const clock = new FakeClock();
  return {
    clock,
    hurried: createClient<ContractMethods>(link, { clock, timeoutMs: 1000 }),
    patient: createClient<ContractMethods>(link),
  };
}
