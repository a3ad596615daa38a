import {
  createClient,
  createServer,
  method,
  RpcError,
  safe,
  silentLog,
  success,
  WireError,
} from "callwire";
import { memoryPair } from "callwire/connection";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { HandLink } from "./hand-link.ts";

const methods = {
  generate: method(
    {
      params: z.object({ prompt: z.string() }),
      result: z.string(),
      errors: {
        PROMPT_TOO_LONG: { code: 1001, data: z.object({ most: z.number() }) },
        NO_CREDIT: { code: 1002 },
      },
    },
    ({ prompt }, _call, errors) => {
      if (prompt === "") throw errors.NO_CREDIT();
      if (prompt.length > 5) throw errors.PROMPT_TOO_LONG({ most: 5 });
      return prompt.toUpperCase();
    },
  ),
};

describe("safe", () => {
  function open() {
    const [near] = memoryPair(undefined, createServer(methods, { log: silentLog }));
    return createClient<typeof methods>(near);
  }

  test("gives the value of a call that went well", async () => {
    expect(await safe(open().api.generate({ prompt: "hi" }))).toEqual({ ok: true, value: "HI" });
  });

  test("gives the declared errors with their data", async () => {
    const { api } = open();
    const long = await safe(api.generate({ prompt: "far too long" }));
    expect(long).toEqual({ ok: false, error: new RpcError(1001, "Prompt too long", { most: 5 }) });
    expect(await safe(api.generate({ prompt: "" }))).toMatchObject({
      ok: false,
      error: { code: 1002 },
    });
  });

  test("gives the errors of the protocol and of the wire", async () => {
    const client = open();
    expect(await safe(client.api.generate({ prompt: 5 as never }))).toMatchObject({
      ok: false,
      error: { name: "RpcError", code: -32602 },
    });
    await client.close();
    const closed = await safe(client.api.generate({ prompt: "hi" }));
    expect(closed.error).toBeInstanceOf(WireError);
    expect(closed.error?.code).toBe("CLOSED");
  });

  test("throws anything else", async () => {
    const link = new HandLink(() => {
      throw new RangeError("a fault of this end");
    });
    const { api } = createClient<typeof methods>(link);
    await expect(safe(api.generate({ prompt: "hi" }))).rejects.toBeInstanceOf(RangeError);
  });

  test('returns values such as 0, "" and null', async () => {
    for (const value of [null, false, 0, "", undefined]) {
      const client = createClient(new HandLink(() => success(value)));
      expect(await safe(client.call("any"))).toEqual({ ok: true, value });
    }
  });
});
