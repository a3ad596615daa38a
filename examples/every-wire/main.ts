// The same client program over every wire: only the link changes.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { createClient, createServer, type Link } from "callwire";
import { memoryPair } from "callwire/connection";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { sseLink } from "callwire/sse";
import { stdioLink } from "callwire/stdio";
import { serveSocket, tcpLink, unixLink } from "callwire/tcp";
import { portLink } from "callwire/worker";
import { webSocketLink } from "callwire/ws";
import { methods } from "../quickstart/methods.ts";
import { program } from "./program.ts";

const folder = await mkdtemp(join(tmpdir(), "every-wire-"));
const path = process.platform === "win32" ? "\\\\.\\pipe\\every-wire" : join(folder, "rpc.sock");

const server = createServer(methods);
const { url } = await serveHttp(server, { port: 0 });
const { port } = await serveSocket(server, { port: 0 });
await serveSocket(server, { path });

const child = fileURLToPath(new URL("./child.ts", import.meta.url));
const worker = new Worker(new URL("./worker.ts", import.meta.url));
const [inMemory] = memoryPair(undefined, server);

const links: Record<string, Link> = {
  HTTP: httpLink(url),
  SSE: sseLink(url),
  WebSocket: webSocketLink(url),
  TCP: tcpLink({ port }),
  "unix socket": unixLink(path),
  stdio: stdioLink(process.execPath, [...process.execArgv, child]),
  worker: portLink(worker),
  memory: inMemory,
};

for (const [wire, link] of Object.entries(links)) {
  await using client = createClient<typeof methods>(link);
  console.log(`${wire}: ${await program(client)}`);
}

await server.close();
await rm(folder, { recursive: true });
