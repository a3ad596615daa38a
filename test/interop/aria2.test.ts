import { EventEmitter, once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient, createServer, type Link, RpcError } from "callwire";
import { httpLink } from "callwire/http";
import { connectWebSocket, webSocketLink } from "callwire/ws";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Process } from "../cli/process.ts";
import { ownPort } from "../own-port.ts";
import { describeWith, pathOf } from "../services.ts";

// A download program in C++ with a JSON-RPC server of its own, which answers errors with HTTP 400.

interface Aria2 {
  readonly aria2: {
    getVersion(token: string): { version: string };
    getGlobalStat(token: string): { numActive: string };
    tellStatus(token: string, gid: string): object;
  };
}

describeWith(["aria2"], "aria2", () => {
  const token = "token:interop";
  let folder: string;
  let aria2: Process;
  let port: number;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "callwire-aria2-"));
    port = await ownPort();
    const options = [`--rpc-listen-port=${port}`, "--rpc-secret=interop", `--dir=${folder}`];
    aria2 = new Process(pathOf("aria2"), ["--no-conf", "--enable-rpc", ...options]);
    await aria2.shown(/IPv4 RPC: listening on TCP port/);
  });

  afterAll(async () => {
    await aria2?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const links: Readonly<Record<string, () => Link>> = {
    HTTP: () => httpLink(`http://127.0.0.1:${port}/jsonrpc`),
    WebSocket: () => webSocketLink(`ws://127.0.0.1:${port}/jsonrpc`),
  };

  const clientOver = (wire: string): Client<Aria2> =>
    createClient<Aria2>((links[wire] as () => Link)(), { separator: "." });

  test.each(Object.keys(links))("answers calls and batches over %s", async (wire) => {
    await using client = clientOver(wire);
    const { version } = await client.api.aria2.getVersion(token);
    expect(version).toMatch(/^\d+\.\d+/);
    expect(await client.call<string[]>("system.listMethods")).toContain("aria2.addUri");
    const [again, { numActive }] = await client.batch((b) => [
      b.aria2.getVersion(token),
      b.aria2.getGlobalStat(token),
    ]);
    expect([again.version, numActive]).toEqual([version, "0"]);
  });

  test.each(Object.keys(links))(
    "answers with errors over %s, whatever the status",
    async (wire) => {
      await using client = clientOver(wire);
      // A request without a token is delayed, so the errors are others.
      const error = await client.api.aria2
        .tellStatus(token, "0")
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(RpcError);
      expect(error).toMatchObject({ code: 1, message: expect.stringContaining("GID") });
      await expect(client.call<unknown>("aria2.nothing", [token])).rejects.toBeInstanceOf(RpcError);
      const [good, bad] = await client.batchSettled((b) => [
        b.aria2.getGlobalStat(token),
        b.aria2.tellStatus(token, "0"),
      ]);
      expect([good.status, bad.status]).toEqual(["fulfilled", "rejected"]);
    },
  );

  test("pushes what becomes of a download over a WebSocket", async () => {
    const files = createHttpServer((_, response) => response.end("a file"));
    const uris = [`http://127.0.0.1:${await listening(files)}/file.txt`];
    const pushed = new EventEmitter();
    const push = (name: string) => (event: unknown) => void pushed.emit(name, event);
    const own = createServer({
      "aria2.onDownloadStart": push("start"),
      "aria2.onDownloadComplete": push("complete"),
    });
    await using connection = await connectWebSocket(`ws://127.0.0.1:${port}/jsonrpc`, {
      service: own,
    });
    const events = Promise.all([once(pushed, "start"), once(pushed, "complete")]);
    const gid = await connection.call("aria2.addUri", [token, uris]);
    expect(await events).toEqual([[{ gid }], [{ gid }]]);
    expect(await readFile(join(folder, "file.txt"), "utf8")).toBe("a file");
    files.close();
  });
});

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
