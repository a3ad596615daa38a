import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { build, environment } from "../cli/process.ts";
import { root } from "../entries.ts";
import { describeWith } from "../services.ts";

const run = promisify(execFile);

describeWith(["nats-server", "tracing example"], "a caller, an agent, a tool and a worker", () => {
  beforeAll(build);

  test("are one trace", async () => {
    const args = ["--import", "./examples/typescript.mjs", "examples/agents/chain.ts"];
    const { stdout } = await run(process.execPath, args, { cwd: root, env: environment });
    expect(
      stdout
        .replace(/[\d.]+ ms$/gm, "0 ms")
        .trim()
        .split("\n"),
    ).toEqual([
      "invited",
      "caller calls: SendMessage, 0 ms",
      "└─ agent answers over http: SendMessage, 0 ms",
      "   └─ agent calls: tools/call invite, 0 ms",
      "      └─ tools answers over http: tools/call invite, 0 ms",
      "         └─ tools calls: letter/send, 0 ms",
      "            └─ worker answers over nats: letter/send, 0 ms",
    ]);
  });
});
