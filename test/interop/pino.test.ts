import { createServer, RpcError } from "callwire";
import { logging } from "callwire/observability";
import { expect, test } from "vitest";
import { requestText } from "../server/asking.ts";
import { describeWith } from "../services.ts";

describeWith(["npm peers"], "pino", () => {
  test("can be used directly, and writes one line of JSON for each call of a batch", async () => {
    const { pino } = await import("pino");
    const lines: string[] = [];
    const log = pino({ base: { service: "shop" } }, { write: (line: string) => lines.push(line) });
    const server = createServer(
      {
        add: (a: number, b: number) => a + b,
        fail: () => {
          throw new RpcError(1001, "Too\nlong");
        },
      },
      { use: [logging({ log, bodies: true })], log },
    );
    await server.receive(
      `[${requestText("add", [2, 3])},${requestText("fail", { password: "x\n" })}]`,
    );
    expect(lines).toHaveLength(2);
    const [added, failed] = lines.map((line) => JSON.parse(line));
    expect(added).toMatchObject({
      level: 30,
      service: "shop",
      msg: "call",
      method: "add",
      id: 1,
      entry: 0,
      outcome: "ok",
      params: [2, 3],
      result: 5,
    });
    expect(failed).toMatchObject({
      level: 40,
      msg: "call failed",
      code: 1001,
      params: { password: "[redacted]" },
    });
    for (const line of lines) expect(line.trimEnd()).not.toContain("\n");
  });
});
