import {
  batching,
  createClient,
  createServer,
  failure,
  fallback,
  method,
  success,
  WireError,
} from "callwire";
import { serveSocket, tcpLink } from "callwire/tcp";
import { describe, expect, test } from "vitest";
import { turn } from "../transports/contract-methods.ts";
import { type Behaviour, HandLink } from "./hand-link.ts";

const dead: Behaviour = () => {
  throw new WireError("CONNECTION_FAILED", "nobody there");
};
const answering =
  (name: string): Behaviour =>
  () =>
    success(name);

type Methods = { m: () => unknown };

describe("fallback", () => {
  test("takes the first link that can connect", async () => {
    const links = [new HandLink(dead), new HandLink(dead), new HandLink(answering("third"))];
    expect(await createClient(fallback(links)).call("m")).toBe("third");
  });

  test("begins with the link that worked last", async () => {
    const [first, second] = [new HandLink(dead), new HandLink(answering("second"))];
    const client = createClient(fallback([first, second]));
    await client.call("m");
    await client.call("m");
    expect([first.payloads.length, second.payloads.length]).toEqual([1, 2]);
    second.behaviour = dead;
    first.behaviour = answering("first again");
    expect(await client.call("m")).toBe("first again");
    expect(await client.call("m")).toBe("first again");
    expect(second.payloads).toHaveLength(3);
  });

  test("fails with the last failure when none can connect", async () => {
    const links = [1, 2].map(
      (number) =>
        new HandLink(() => {
          throw new WireError("CONNECTION_FAILED", `link ${number}`);
        }),
    );
    await expect(createClient(fallback(links)).call("m")).rejects.toThrow("link 2");
    expect(links.map(({ payloads }) => payloads.length)).toEqual([1, 1]);
  });

  test("never sends again what may have run", async () => {
    for (const code of ["CONNECTION_LOST", "TIMEOUT", "BAD_REPLY", "CLOSED"] as const) {
      const second = new HandLink(answering("second"));
      const first = new HandLink(() => {
        throw new WireError(code, "too late");
      });
      await expect(createClient(fallback([first, second])).call("m")).rejects.toMatchObject({
        code,
      });
      expect(second.payloads).toEqual([]);
    }
  });

  test("sends idempotent calls again, and reports the gap", async () => {
    const lost: Behaviour = () => {
      throw new WireError("CONNECTION_LOST", "cut");
    };
    const badGateway: Behaviour = () => {
      throw new WireError("HTTP_STATUS", "Bad Gateway", { status: 502 });
    };
    let gaps = 0;
    const often = { idempotent: true, onGap: () => gaps++ };
    for (const broken of [lost, badGateway]) {
      const links = [new HandLink(broken), new HandLink(dead), new HandLink(answering("third"))];
      const client = createClient<Methods>(fallback(links));
      gaps = 0;
      expect(await client.call("m", [], often)).toBe("third");
      expect(gaps).toBe(1);
      const repeating = createClient<Methods>(fallback(links)).with({ idempotent: true });
      expect(await repeating.batch((b) => [b.m(), b.m()])).toEqual(["third", "third"]);
    }
    // It may have run, whatever the reason why the next ones refused it.
    const stops: Behaviour = () =>
      failure({
        code: -32006,
        message: "Server is shutting down",
        data: { ran: false, reason: "stopping" },
      });
    for (const next of [dead, stops]) {
      const client = createClient<Methods>(fallback([new HandLink(lost), new HandLink(next)]));
      await expect(client.call("m", [], often)).rejects.toMatchObject({ code: "CONNECTION_LOST" });
      expect(await client.with({ idempotent: true }).batchSettled((b) => [b.m()])).toMatchObject([
        { reason: { code: "CONNECTION_LOST" } },
      ]);
    }
  });

  test("does not send again what its caller cancels because of the gap", async () => {
    const lost: Behaviour = () => {
      throw new WireError("CONNECTION_LOST", "cut");
    };
    const links = [new HandLink(lost), new HandLink(answering("second"))];
    const client = createClient<Methods>(fallback(links));
    const givingUp = () => {
      const controller = new AbortController();
      const { signal } = controller;
      return client.with({ signal, idempotent: true, onGap: () => controller.abort() });
    };
    await expect(givingUp().call("m")).rejects.toMatchObject({ code: "ABORTED" });
    expect(await givingUp().batchSettled((b) => [b.m()])).toMatchObject([
      { reason: { code: "ABORTED" } },
    ]);
    await turn();
    expect(links[1]?.payloads).toEqual([]);
  });

  test("sends calls that a stopping server ended to the next link only if they are idempotent", async () => {
    const data = {
      ran: true,
      reason: "stopping",
      details: "the server ended the call before it was done",
    };
    const error = { code: -32006, message: "Server is shutting down", data };
    const ends: Behaviour = () => failure(error);
    const [first, second] = [new HandLink(ends), new HandLink(answering("second"))];
    const client = createClient<Methods>(fallback([first, second]));
    await expect(client.call("m")).rejects.toMatchObject(error);
    expect(second.payloads).toHaveLength(0);
    let gaps = 0;
    const twice = { idempotent: true, onGap: () => gaps++ };
    expect(await client.call("m", [], twice)).toBe("second");
    expect(gaps).toBe(1);
    second.behaviour = ends;
    await expect(client.call("m", [], twice)).rejects.toMatchObject(error);
  });

  test('uses the next link if a stopping server did not take the call, and fails with "stopping" if all are', async () => {
    const stops: Behaviour = () =>
      failure({
        code: -32006,
        message: "Server is shutting down",
        data: { ran: false, reason: "stopping" },
      });
    const [first, second] = [new HandLink(stops), new HandLink(answering("second"))];
    const client = createClient<Methods>(fallback([first, second]));
    expect(await client.call("m")).toBe("second");
    expect(await client.batch((b) => [b.m(), b.m()])).toEqual(["second", "second"]);
    second.behaviour = stops;
    const refused = {
      code: -32006,
      message: "Server is shutting down",
      data: { ran: false, reason: "stopping" },
    };
    await expect(client.call("m")).rejects.toMatchObject(refused);
    expect(await client.batchSettled((b) => [b.m()])).toMatchObject([{ reason: refused }]);
    // A call that was ended while it ran is not repeated.
    first.behaviour = () =>
      failure({
        ...refused,
        data: {
          ran: true,
          reason: "stopping",
          details: "the server ended the call before it was done",
        },
      });
    second.behaviour = answering("second");
    const again = createClient<Methods>(fallback([first, second]));
    await expect(again.call("m")).rejects.toMatchObject({ code: -32006, data: { ran: true } });
  });

  test("finds a server that restarted while the next one began to stop", async () => {
    const refused = failure({
      code: -32006,
      message: "Server is shutting down",
      data: { ran: false, reason: "stopping" },
    });
    const [first, second] = [new HandLink(), new HandLink()];
    const back = (): void => {
      first.behaviour = dead;
      second.behaviour = () => {
        first.behaviour = answering("back");
        return refused;
      };
    };
    const client = createClient<Methods>(fallback([first, second]));
    back();
    expect(await client.call("m")).toBe("back");
    back();
    expect(await client.batch((b) => [b.m(), b.m()])).toEqual(["back", "back"]);
    // It asks once more, not forever.
    first.behaviour = dead;
    second.behaviour = () => refused;
    const tries = first.payloads.length;
    await expect(client.call("m")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    expect(first.payloads.length - tries).toBe(2);
  });

  test("takes an error of the server as the answer", async () => {
    const second = new HandLink(answering("second"));
    const answers = [
      { code: -32603, message: "Internal error" },
      { code: -32010, message: "Rate limited", data: { ran: false, reason: "rate-limited" } },
      // As other servers may use these codes.
      { code: -32005, message: "Server busy" },
      { code: -32006, message: "Server is shutting down", data: "later" },
    ];
    for (const error of answers) {
      const client = createClient<Methods>(fallback([new HandLink(() => failure(error)), second]));
      await expect(client.call("m", [], { idempotent: true })).rejects.toMatchObject(error);
    }
    expect(second.payloads).toEqual([]);
  });

  test("tries each link once if servers are busy", async () => {
    const busy: Behaviour = () =>
      failure({ code: -32005, message: "Server busy", data: { ran: false, reason: "busy" } });
    const [first, second] = [new HandLink(busy), new HandLink(answering("second"))];
    expect(await createClient(fallback([first, second])).call("m")).toBe("second");
    second.behaviour = busy;
    await expect(createClient(fallback([first, second])).call("m")).rejects.toMatchObject({
      code: -32005,
    });
    expect([first.payloads.length, second.payloads.length]).toEqual([2, 2]);
  });

  test("takes a batch as a whole", async () => {
    const [first, second] = [new HandLink(dead), new HandLink(answering("second"))];
    const client = createClient<Methods>(fallback([first, second]));
    expect(await client.batch((b) => [b.m(), b.m()])).toEqual(["second", "second"]);
    expect(second.payloads).toHaveLength(1);
  });

  test("keeps the failures of a batch apart", async () => {
    let calls = 0;
    const first = new HandLink(() => {
      if (calls++ === 0) throw new WireError("CONNECTION_LOST", "only this one");
      return success("fine");
    });
    const client = createClient<Methods>(fallback([first, new HandLink(answering("second"))]));
    expect(await client.batchSettled((b) => [b.m(), b.m()])).toMatchObject([
      { status: "rejected", reason: { code: "CONNECTION_LOST" } },
      { status: "fulfilled", value: "fine" },
    ]);
  });

  test("sends only those calls of a batch again that the first link did not send", async () => {
    let broken = false;
    const runs: string[] = [];
    const methods = (name: string) => ({
      pay: () => runs.push(`${name}: pay`),
      breakOff: method({}, async (_, { peer }) => {
        runs.push(`${name}: breakOff`);
        if (broken) return "whole";
        broken = true;
        await peer.close();
        return "broken";
      }),
    });
    const dying = await serveSocket(createServer(methods("dying")), { port: 0, drainMs: 0 });
    await using living = await serveSocket(createServer(methods("living")), { port: 0 });
    const dead = tcpLink({
      port: dying.port as number,
      // The call that may be repeated finds no server there.
      reconnect: { attempts: 1, onLost: () => void dying.close() },
    });
    await using client = createClient<ReturnType<typeof methods>>(
      fallback([dead, tcpLink({ port: living.port as number })]),
      { idempotent: ["breakOff"] },
    );
    expect(await client.batchSettled((b) => [b.pay(), b.breakOff()])).toMatchObject([
      { status: "rejected", reason: { code: "CONNECTION_LOST" } },
      { status: "fulfilled", value: "whole" },
    ]);
    expect(runs).toEqual(["dying: pay", "dying: breakOff", "living: breakOff"]);
  });

  test("does not send a call of a batch that was cancelled while others had their first link", async () => {
    const first = new HandLink();
    const second = new HandLink(answering("second"));
    const controller = new AbortController();
    const client = createClient<Methods>(batching(fallback([first, second])));
    const given = client.call("m", [], { signal: controller.signal });
    const others = [client.call("m"), client.call("m")];
    await turn();
    const [one, two, three] = first.calls;
    const nobody = new WireError("CONNECTION_FAILED", "nobody there");
    one?.reject(nobody);
    two?.reject(nobody);
    await turn();
    controller.abort();
    await expect(given).rejects.toMatchObject({ code: "ABORTED" });
    expect(second.calls).toEqual([]);
    three?.resolve(success("first"));
    expect(await Promise.all(others)).toEqual(["second", "first"]);
    expect(second.calls).toHaveLength(1);
  });

  test("does not try the next link for a caller that cancelled", async () => {
    const [first, second] = [new HandLink(), new HandLink(answering("second"))];
    const controller = new AbortController();
    const call = createClient(fallback([first, second])).call("m", [], {
      signal: controller.signal,
    });
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    expect(second.payloads).toEqual([]);
  });

  test.each(["CONNECTION_FAILED", "CONNECTION_LOST"] as const)(
    "does not send on what its caller cancels before it has heard of the failure: %s",
    async (code) => {
      const [first, second] = [new HandLink(), new HandLink()];
      const client = createClient<Methods>(fallback([first, second]));
      const controller = new AbortController();
      const { signal } = controller;
      let gaps = 0;
      const options = { signal, idempotent: true, onGap: () => gaps++ };
      const call = client.call("m", [], options);
      const batch = client.with(options).batchSettled((b) => [b.m(), b.m()]);
      for (const { outgoing, reject } of first.calls) {
        // A link can no longer cancel a call that has failed.
        outgoing.cancel = undefined;
        reject(new WireError(code, "no"));
      }
      controller.abort();
      const aborted = { code: "ABORTED" };
      await expect(call).rejects.toMatchObject(aborted);
      expect(await batch).toMatchObject([{ reason: aborted }, { reason: aborted }]);
      await turn();
      expect(second.payloads).toEqual([]);
      expect(gaps).toBe(0);
    },
  );

  test("closes all links", async () => {
    const links = [new HandLink(), new HandLink()];
    await createClient(fallback(links)).close();
    expect(links.map(({ closed }) => closed)).toEqual([1, 1]);
  });

  test("needs a link", () => {
    expect(() => fallback([])).toThrow(TypeError);
  });
});
