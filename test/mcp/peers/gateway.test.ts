/** A gateway in front of published servers of other authors. */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "callwire";
import { mcpGateway } from "callwire/mcp";
import { mcpClient, mcpMemoryLink } from "callwire/mcp/client";
import { expect, test } from "vitest";
import { describeWith } from "../../services.ts";
import { linkTo, type ServerName } from "./npm-servers.ts";

const info = { name: "callwire", version: "1.0.0", log: silentLog };
const names: readonly ServerName[] = ["everything", "files", "memory", "thinking", "commands"];

describeWith(["mcp peers"], "a gateway in front of five servers from npm", () => {
  test("reports a call whose server is killed as one that may have run; the others continue", async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "callwire-")));
    const parts = Object.fromEntries(names.map((name) => [name, linkTo(name, folder)]));
    const gateway = mcpGateway(parts, { ...info, startMs: 60_000 });
    try {
      await using client = mcpClient(mcpMemoryLink(gateway), info);
      const tools = (await client.tools().all()).map(({ name }) => name);
      for (const name of names)
        expect(tools.some((each) => each.startsWith(`${name}_`))).toBe(true);

      const kill = () => client.callTool("commands_run_command", { command: "kill -9 $PPID" });
      let killed: ReturnType<typeof kill> | undefined;
      const slow = client.callTool(
        "everything_trigger-long-running-operation",
        { duration: 0.1, steps: 2 },
        {
          onProgress() {
            killed ??= kill();
            killed.catch(() => {});
          },
        },
      );
      expect(await slow).not.toHaveProperty("isError");
      await expect(killed).rejects.toMatchObject({
        code: -32009,
        data: { ran: "unknown", reason: "connection-lost" },
      });
      const thought = { thought: "", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };
      const [read, thinking, back] = await Promise.all([
        client.callTool("memory_read_graph"),
        client.callTool("thinking_sequentialthinking", thought),
        client.callTool("commands_run_command", { command: "echo back" }),
      ]);
      expect(read).toMatchObject({ structuredContent: { entities: [] } });
      expect(thinking).toMatchObject({ structuredContent: { thoughtNumber: 1 } });
      expect(JSON.stringify(back.content)).toContain("back");
    } finally {
      await gateway.close();
      await rm(folder, { recursive: true });
    }
  }, 90_000);
});
