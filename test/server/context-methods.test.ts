import {
  createServer,
  implement,
  method,
  RpcError,
  silentLog,
  stream,
  withContext,
} from "callwire";
import { testClient } from "callwire/testing";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { RecordingLog } from "../server/asking.ts";

const users = new Map([["ann", { name: "Ann", team: "red" }]]);
const member = withContext(async (call) => {
  const user = users.get(call.principal?.id ?? "");
  if (user === undefined) throw new RpcError(1403, "Members only");
  return { user };
});
const inTeam = member.use((call) => ({ team: call.user.team.toUpperCase() }));
const ann = { principal: { id: "ann" } };

describe("methods with a context", () => {
  test("get what the function returned, with its type", async () => {
    const hello = member.method({ params: z.object({ to: z.string() }) }, ({ to }, call) => {
      expectTypeOf(call.user).toEqualTypeOf<{ name: string; team: string }>();
      return `${call.user.name} greets ${to} with ${call.method}`;
    });
    const { api } = testClient({ hello }, ann);
    expectTypeOf(api.hello({ to: "Bob" })).resolves.toBeString();
    expect(await api.hello({ to: "Bob" })).toBe("Ann greets Bob with hello");
  });

  test("build on each other, also for streams", async () => {
    const news = inTeam.stream({}, async function* (_, call) {
      yield `${call.user.name} of ${call.team}`;
    });
    const seen: string[] = [];
    for await (const item of testClient({ news }, ann).api.news()) seen.push(item);
    expect(seen).toEqual(["Ann of RED"]);
  });

  test("do not run if the function throws, and params are not checked before", async () => {
    let runs = 0;
    const count = member.method({ params: z.object({ n: z.number() }) }, () => ++runs);
    const { api } = testClient({ count });
    const refused = { code: 1403, message: "Members only" };
    await expect(api.count({ n: "x" } as never)).rejects.toMatchObject(refused);
    const known = testClient({ count }, ann);
    await expect(known.api.count({ n: "x" } as never)).rejects.toMatchObject({ code: -32602 });
    expect(runs).toBe(0);
  });

  test("complete a contract", async () => {
    const contract = { hello: member.method({ result: z.string() }) };
    const methods = implement(contract, { hello: (_, call) => call.user.name });
    expect(await testClient(methods, ann).api.hello()).toBe("Ann");
  });

  test("implement the groups of a contract that does not mention the context", async () => {
    const contract = {
      open: { echo: method({ params: z.object({ text: z.string() }), result: z.string() }) },
      team: {
        name: method({ result: z.string(), progress: z.number() }),
        news: stream({ item: z.string() }),
      },
    };
    const methods = {
      open: implement(contract.open, {
        // @ts-expect-error The group of everyone has no user.
        echo: ({ text }, call) => call.user?.name ?? text,
      }),
      team: inTeam.implement(contract.team, {
        name: (_, call) => {
          expectTypeOf(call.progress).parameter(0).toEqualTypeOf<number>();
          return `${call.user.name} of ${call.team}`;
        },
        news: async function* (_, call) {
          yield call.team;
        },
      }),
    };
    expectTypeOf(methods).toEqualTypeOf<typeof contract>();
    const { api } = testClient(methods, ann);
    expect(await api.team.name()).toBe("Ann of RED");
    for await (const item of api.team.news()) expect(item).toBe("RED");
    const stranger = testClient(methods).api;
    await expect(stranger.team.name()).rejects.toMatchObject({ code: 1403 });
    expect(await stranger.open.echo({ text: "hi" })).toBe("hi");
  });

  test("keep the calls of a batch apart", async () => {
    let calls = 0;
    const numbered = withContext(() => ({ number: ++calls }));
    const client = testClient({ own: numbered.method({}, (_, call) => call.number) });
    expect(await client.batch((b) => [b.own(), b.own()])).toEqual([1, 2]);
  });

  test("cannot replace what every call has", async () => {
    const log = new RecordingLog();
    const bad = withContext(() => ({ signal: "mine" }));
    const { api } = testClient({ bad: bad.method({}, () => 1) }, { log });
    await expect(api.bad()).rejects.toMatchObject({ code: -32603 });
    const message = expect.stringContaining('"signal" is a member of every call');
    expect(log.entries[0]?.fields.err).toMatchObject({ message });
  });

  test("are needed for their members: others do not compile", () => {
    createServer(
      {
        // @ts-expect-error A method without the context has no user.
        plain: method({}, (_, call) => call.user),
        // @ts-expect-error A member has no team.
        team: member.method({}, (_, call) => call.team),
      },
      { log: silentLog },
    );
  });
});
