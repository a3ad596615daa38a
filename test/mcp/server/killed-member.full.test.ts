/** Two processes that share sessions in NATS, behind a load balancer without sticky sessions; one of them is killed. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { StorageType } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { silentLog } from "callwire";
import { type McpClient, mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { bundle } from "../../transports/bundle.ts";
import { TestNats } from "../../transports/nats/test-nats.ts";
import { RoundRobin } from "./round-robin.ts";

const clients = 6;
const callsEach = 30;

describeWith(["nats-server"], "a fleet of two processes", () => {
  test("under load, killing one loses no session, and only calls that it was running", async () => {
    const testNats = await TestNats.start('jetstream: { store_dir: "$FOLDER" }');
    await new Kvm(await testNats.connect()).create("sessions", { storage: StorageType.Memory });
    const proxy = new RoundRobin();
    const program = bundle(new URL("./fixtures/fleet-member.ts", import.meta.url));
    const start = async (name: string): Promise<ChildProcess> => {
      const child = fork(program, [`${testNats.nats.port}`, name]);
      onTestFinished(() => void child.kill("SIGKILL"));
      const [url] = await once(child, "message");
      proxy.add(url);
      return child;
    };
    const [first] = await Promise.all([start("a"), start("b")]);
    const url = await proxy.listen();
    onTestFinished(() => proxy.close());

    let done = 0;
    let killed: Promise<unknown> | undefined;
    const lost: string[] = [];
    const work = async (client: McpClient): Promise<void> => {
      for (let i = 0; i < callsEach; i++) {
        const name = ["who", "steps", "ask"][i % 3] as string;
        const expected = name === "who" ? /^[ab]$/ : name === "ask" ? /^Ada$/ : /^done$/;
        try {
          const { content } = await client.callTool(name);
          const [block] = content;
          expect(block?.type === "text" && block.text).toMatch(expected);
        } catch (error) {
          // Calls that the killed process was running may have run, so they are not repeated. If
          // the stream of such a call had begun, the other process ends it when the killed one has
          // been silent for long enough.
          const { code } = error as { code?: unknown };
          expect(killed).toBeDefined();
          expect(["CONNECTION_LOST", -32009]).toContain(code);
          lost.push(name);
        }
        if (++done === (clients * callsEach) / 3) {
          killed = once(first, "exit");
          first.kill("SIGKILL");
        }
      }
    };
    const all = Array.from({ length: clients }, (_, i) =>
      mcpClient(mcpHttpLink(url), {
        name: `client-${i}`,
        version: "1.0.0",
        era: "legacy",
        log: silentLog,
        elicitForm: () => ({ action: "accept", content: { name: "Ada" } }),
      }),
    );
    onTestFinished(async () => {
      await Promise.all(all.map((client) => client.close()));
    });
    await Promise.all(all.map(work));
    await killed;
    // No client had to start a new session, and no client lost more than the call that it was
    // making.
    expect(proxy.opened).toBe(clients);
    expect(lost.length).toBeLessThanOrEqual(clients);
    for (const client of all)
      expect((await client.callTool("who")).content).toMatchObject([{ text: "b" }]);
  }, 120_000);
});
