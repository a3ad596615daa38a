/** A server or a client of `growth.mjs`, in a process of its own. */
import { createServer as createHttpServer } from "node:http";
import { connect } from "node:net";
import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { WebSocketServer } from "ws";
import { answerText } from "./candidates/dispatch.mjs";
import { listening } from "./candidates/listening.mjs";
import { answering } from "./processes.mjs";

const key = Buffer.alloc(16).toString("base64");
const open = [];

const servers = {
  async callwire() {
    const server = createServer({ add: (a, b) => a + b, echo: (value) => value });
    const limits = { maxConnections: 100_000, maxConnectionsPerAddress: 100_000 };
    const options = { ...limits, webSocket: limits, keepAliveTimeoutMs: 600_000, port: 0 };
    return (await serveHttp(server, options)).port;
  },
  byHand() {
    const server = createHttpServer((request, response) => {
      const chunks = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", () => {
        const reply = answerText(Buffer.concat(chunks).toString());
        response.writeHead(200, {
          "Content-Type": "application/json",
          "Content-Length": Buffer.byteLength(reply),
        });
        response.end(reply);
      });
    });
    server.keepAliveTimeout = 600_000;
    const sockets = new WebSocketServer({ server, perMessageDeflate: false });
    sockets.on("connection", (ws) => ws.on("message", (data) => ws.send(answerText(`${data}`))));
    return listening(server);
  },
};

answering({
  serve: async ({ kind }) => ({ port: await servers[kind]() }),

  cpu: () => total(process.cpuUsage()),

  memory() {
    globalThis.gc();
    const { heapUsed, external, rss } = process.memoryUsage();
    return { heap: heapUsed + external, rss };
  },

  /** What a call costs in process, of so many methods. */
  dispatch({ count, ms }) {
    globalThis.gc();
    const before = process.memoryUsage().heapUsed;
    const names = Array.from({ length: count }, (_, i) => `method${i}`);
    const server = createServer(Object.fromEntries(names.map((name) => [name, (a, b) => a + b])));
    const texts = names.map((name) => `{"jsonrpc":"2.0","method":"${name}","params":[2,3],"id":1}`);
    server.receive(texts[0]);
    globalThis.gc();
    const heap = process.memoryUsage().heapUsed - before;
    const run = (duration) => {
      const started = performance.now();
      const cpu = process.cpuUsage();
      let calls = 0;
      while (performance.now() - started < duration) {
        for (let i = 0; i < 1000; i++) server.receive(texts[calls++ % count]);
      }
      return total(process.cpuUsage(cpu)) / calls;
    };
    run(ms / 4);
    return { micros: run(ms), heap };
  },

  /** What each million of calls costs in process, and the heap after it. */
  many({ millions }) {
    const server = createServer({ add: (a, b) => a + b });
    const text = '{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}';
    return Array.from({ length: millions }, () => {
      const cpu = process.cpuUsage();
      for (let i = 0; i < 1e6; i++) server.receive(text);
      const micros = total(process.cpuUsage(cpu)) / 1e6;
      globalThis.gc();
      return { micros, heap: process.memoryUsage().heapUsed };
    });
  },

  /** Opens connections that have been used once and then stay idle. */
  async connect({ port, count, wire }) {
    const first =
      wire === "websocket"
        ? upgrade
        : post('{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}');
    for (let opened = 0; opened < count; ) {
      const some = Math.min(100, count - opened);
      open.push(...(await Promise.all(Array.from({ length: some }, () => used(port, first)))));
      opened += some;
    }
  },

  /** Echoes a value of so many KiB over some connections, one call at a time on each. */
  async load({ port, kib, connections, ms }) {
    const value = "x".repeat(kib * 1024);
    const request = post(
      JSON.stringify({ jsonrpc: "2.0", method: "echo", params: [value], id: 1 }),
    );
    let calls = 0;
    let isOver = false;
    setTimeout(() => {
      isOver = true;
    }, ms);
    const loop = async () => {
      const socket = await opened(port);
      while (!isOver) {
        await exchanged(socket, request);
        calls++;
      }
      socket.destroy();
    };
    await Promise.all(Array.from({ length: connections }, loop));
    return { calls };
  },
});

const upgrade = `GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`;

function post(body) {
  return `POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

function opened(port) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.setNoDelay(true);
    socket.on("error", reject);
  });
}

async function used(port, request) {
  const socket = await opened(port);
  await exchanged(socket, request);
  return socket;
}

/** Resolves when the whole reply has arrived. */
function exchanged(socket, request) {
  return new Promise((resolve, reject) => {
    let wanted;
    let arrived = 0;
    const lost = () => reject(new Error("the server closed a connection"));
    const read = (chunk) => {
      if (wanted === undefined) {
        const head = chunk.toString("latin1", 0, 1024);
        const end = head.indexOf("\r\n\r\n") + 4;
        wanted = end + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (!/^HTTP\/1.1 (200|101)/.test(head)) reject(new Error(head));
      }
      arrived += chunk.length;
      if (arrived < wanted) return;
      socket.off("data", read);
      socket.off("close", lost);
      resolve();
    };
    socket.on("data", read);
    socket.on("close", lost);
    socket.write(request, "latin1");
  });
}

function total({ user, system }) {
  return user + system;
}
