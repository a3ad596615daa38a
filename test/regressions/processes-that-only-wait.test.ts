import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { build } from "../cli/process.ts";
import { root } from "../entries.ts";

const run = promisify(execFile);

// If no socket kept the process alive, it ended before the timeout of its call, which reported
// nothing.
beforeAll(build);

async function printed(call: string): Promise<string> {
  const program = `
    import { createClient, createServer } from "callwire";
    import { Connection, memoryChannels, memoryPair } from "callwire/connection";
    const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms, "done"));
    const client = createClient(memoryPair(undefined, createServer({ later }))[0]);
    // No server runs there, since one would time out at the same moment.
    const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
    const unanswered = createClient(new Connection(memoryChannels()[0], { transport }));
    console.log(await ${call}.catch(({ code }) => code));`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], {
    cwd: root,
  });
  return stdout;
}

test("a timeout fires although nothing else keeps the process alive", async () => {
  expect(await printed('unanswered.call("never", [], { timeoutMs: 100 })')).toBe("TIMEOUT\n");
});

test("a process ends when its call has its answer, whatever time was left", async () => {
  expect(await printed('client.call("later", [50], { timeoutMs: 1e6 })')).toBe("done\n");
});
