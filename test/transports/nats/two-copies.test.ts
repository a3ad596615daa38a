import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { connect as connectTo } from "@nats-io/transport-node";
import { createClient, createServer, silentLog } from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { durableLink, serveDurable } from "callwire/nats/jetstream";
import { buildSync } from "esbuild";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { root } from "../../entries.ts";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { startNats } from "./nats-server.ts";

const folder = mkdtempSync(join(tmpdir(), "callwire-nats-copy-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Errors of one copy are not instances of the classes of the other. */
describeWith(["nats-server"], "a connection of another copy of NATS's client", () => {
  let connect: typeof connectTo;
  beforeAll(async () => {
    const outfile = join(folder, "copy.cjs");
    const contents = 'export { connect } from "@nats-io/transport-node";';
    const stdin = { contents, resolveDir: root };
    buildSync({ stdin, outfile, bundle: true, format: "cjs", platform: "node" });
    ({ connect } = (await import(outfile)).default);
  });

  async function open(config: string, user: string): ReturnType<typeof connectTo> {
    const nats = await startNats(config);
    onTestFinished(() => nats.stop());
    const connection = await connect({ port: nats.port, user, pass: user });
    onTestFinished(() => connection.close());
    return connection;
  }

  const denied = (side: "publish" | "subscribe") =>
    `authorization: { users: [
      { user: ann, password: ann, permissions: { ${side}: { deny: "rpc.>" } } }
    ] }`;

  test("says at once that no stream takes a notification", async () => {
    const connection = await open('jetstream: { store_dir: "$FOLDER" }', "");
    const jobs = createClient(durableLink(connection, { subject: "jobs", timeoutMs: 60_000 }));
    await expect(jobs.notify("note")).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: expect.stringContaining("no stream takes jobs.any.note"),
    });
  });

  test("says that JetStream is off", async () => {
    const server = createServer({}, { log: silentLog });
    onTestFinished(() => server.close());
    const serving = serveDurable(server, await open("", ""), { subject: "jobs" });
    await expect(serving).rejects.toThrow("JetStream is off");
  });

  test("says at once that its user may not call", async () => {
    const client = createClient(natsLink(await open(denied("publish"), "ann"), { subject: "rpc" }));
    const calling = client.call("add", [1, 2], { timeoutMs: 60_000 });
    await expect(calling).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
  });

  test("says in the log that its user may not serve", async () => {
    const told = deferred<string>();
    const error = (fields: object, message: string) =>
      told.resolve(`${(fields as { subject: string }).subject}: ${message}`);
    const server = createServer({ add: () => 0 }, { log: { ...silentLog, error } });
    onTestFinished(() => server.close());
    await serveNats(server, await open(denied("subscribe"), "ann"), { subject: "rpc" });
    expect(await told.promise).toMatch(/^rpc\..*: this worker cannot take calls$/);
  });
});
