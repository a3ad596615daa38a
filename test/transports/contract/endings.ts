import { type Client, ErrorCode, isRpcError, WireError } from "callwire";
import { describe, expect, test } from "vitest";
import type { ContractMethods } from "../contract-methods.ts";
import { deferred, Session, type Wire } from "./wire.ts";

/** Codes that name the wire as the reason. */
const brokenCodes = ["CONNECTION_LOST", "CONNECTION_FAILED", "CLOSED"];

/** How a wire ends: because one of its peers died, or on purpose. */
export function testEndings(wire: Wire): void {
  const { duplex = true, shared = true, streams = "credit" } = wire;

  describe("a server that dies", () => {
    test("before it read the call: the call fails", async () => {
      const session = await Session.start(wire);
      const client = await session.client();
      await client.call("echo", [1]);
      const call = broken(client.api.hold({ key: "unread" }));
      await session.host.kill();
      await call;
    });

    test("while calls run: each fails, and the code says that they may have run", async () => {
      const session = await Session.start(wire);
      const client = await session.client();
      const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
      const calls = keys.map((key) => client.api.hold({ key }));
      const outcomes = Promise.allSettled(calls);
      const batch = client.batchSettled((b) => [b.hold({ key: "b1" }), b.hold({ key: "b2" })]);
      for (const key of [...keys, "b1", "b2"]) await client.api.seen({ event: `${key} started` });
      await session.host.kill();
      for (const outcome of [...(await outcomes), ...(await batch)]) {
        expect(outcome).toMatchObject({
          status: "rejected",
          reason: { name: "WireError", code: "CONNECTION_LOST" },
        });
      }
    });

    test("after it answered: the answer is valid, and the next call fails", async () => {
      const session = await Session.start(wire);
      const client = await session.client();
      expect(await client.call("echo", ["answered"])).toBe("answered");
      await session.host.kill();
      await broken(client.call("echo", ["unheard"]));
    });

    if (streams !== "none") {
      test("in the middle of a stream: the reader gets an error", async () => {
        const session = await Session.start(wire);
        const client = await session.client();
        const items = client.api.endless({ key: "e" })[Symbol.asyncIterator]();
        await items.next();
        await session.host.kill();
        const rest = (async () => {
          while (!(await items.next()).done);
        })();
        await expect(rest).rejects.toMatchObject({ name: "WireError", code: "CONNECTION_LOST" });
      });
    }
  });

  if (shared) {
    describe("a client that dies", () => {
      test("ends the calls that it made, and no others", async () => {
        const session = await Session.start(wire);
        const observer = await session.client();
        const { client, kill } = await session.connect();
        const gone = Promise.allSettled([
          client.api.hold({ key: "a" }),
          client.api.hold({ key: "b" }),
        ]);
        const kept = observer.api.hold({ key: "kept" });
        for (const key of ["a", "b", "kept"]) await observer.api.seen({ event: `${key} started` });
        kill();
        await observer.api.seen({ event: "a aborted" });
        await observer.api.seen({ event: "b aborted" });
        for (const outcome of await gone) expect(outcome.status).toBe("rejected");
        await observer.api.note({ event: "kept released" });
        expect(await kept).toBe("released");
      });

      if (streams !== "none") {
        test("ends the generators that it read", async () => {
          const session = await Session.start(wire);
          const observer = await session.client();
          const { client, kill } = await session.connect();
          const items = client.api.endless({ key: "read" })[Symbol.asyncIterator]();
          await items.next();
          kill();
          await observer.api.seen({ event: "read left" });
          await items.return?.().catch(() => {});
        });
      }

      if (duplex) {
        test("fails the calls that its server made to it", async () => {
          const session = await Session.start(wire);
          const observer = await session.client();
          const reached = deferred();
          const { client, kill } = await session.connect({
            gate: () => {
              reached.resolve();
              return new Promise(() => {});
            },
          });
          const call = client.api.back({ method: "gate" }).catch(() => {});
          await reached.promise;
          kill();
          await call;
          expect(await observer.call("echo", ["fine"])).toBe("fine");
        });
      }
    });

    test("a client that closes fails its open calls, and their handlers are aborted", async () => {
      const session = await Session.start(wire);
      const observer = await session.client();
      const client = await session.client();
      const call = expect(client.api.hold({ key: "open" })).rejects.toMatchObject({
        name: "WireError",
        code: "CLOSED",
      });
      await observer.api.seen({ event: "open started" });
      await client.close();
      await call;
      await observer.api.seen({ event: "open aborted" });
      await broken(client.call("echo", ["late"]));
    });
  }

  describe("a server that closes", () => {
    test("finishes what runs and then refuses", async () => {
      const session = await Session.start(wire);
      const client = await session.client();
      const running = client.api.until_draining({ key: "last" });
      await client.api.seen({ event: "last started" });
      const closing = session.host.close();
      expect(await running).toBe("finished");
      await closing;
      await refused(client);
    });

    test("sends the replies of a batch that still runs", async () => {
      const session = await Session.start(wire);
      const client = await session.client();
      const running = client.batch((b) => [
        b.until_draining({ key: "one" }),
        b.echo("two"),
        b.until_draining({ key: "three" }),
      ]);
      await client.api.seen({ event: "one started" });
      await client.api.seen({ event: "three started" });
      const closing = session.host.close();
      expect(await running).toEqual(["finished", "two", "finished"]);
      await closing;
    });

    if (streams !== "none") {
      test("ends with the last item of a stream that its reader still reads", async () => {
        const session = await Session.start(wire);
        const client = await session.client();
        const items = client.api.count({ to: 500 })[Symbol.asyncIterator]();
        expect((await items.next()).value).toBe(0);
        const closing = session.host.close();
        for (let i = 1; i < 500; i++) expect((await items.next()).value).toBe(i);
        expect((await items.next()).done).toBe(true);
        await closing;
      });
    }

    if (duplex) {
      test("refuses new calls while a running one is still talking to its caller", async () => {
        const session = await Session.start(wire);
        const reached = deferred();
        const gate = deferred<string>();
        const client = await session.client({
          gate: () => {
            reached.resolve();
            return gate.promise;
          },
        });
        const running = client.api.back({ method: "gate" });
        await reached.promise;
        const closing = session.host.close();
        expect(await refused(client)).toMatchObject({ code: ErrorCode.ShuttingDown });
        gate.resolve("through");
        expect(await running).toBe("through");
        await closing;
        await broken(client.call("echo", ["late"]));
      });
    }
  });
}

async function broken(call: Promise<unknown>): Promise<void> {
  const error: unknown = await call.then(
    () => "the call was answered",
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(WireError);
  expect(brokenCodes).toContain((error as WireError).code);
}

/** A process takes a while to get the request to close, so calls are made until one is refused. */
async function refused(client: Client<ContractMethods>): Promise<unknown> {
  for (;;) {
    try {
      await client.call("echo", ["any more?"]);
    } catch (error) {
      if (!isRpcError(error)) expect(error).toBeInstanceOf(WireError);
      else expect(error.code).toBe(ErrorCode.ShuttingDown);
      return error;
    }
  }
}
