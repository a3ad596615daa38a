/** The server or the callers of `overload.mjs`. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { connect as connectSocket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectNats } from "@nats-io/transport-node";
import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveNats } from "callwire/nats";
import { serveStdio } from "callwire/stdio";
import { serveSocket } from "callwire/tcp";
import { WebSocket } from "ws";
import { answering, asking, start } from "./processes.mjs";

const patienceMs = 1_000;
const connections = { tcp: 32, unix: 32, ws: 32, http: 256, sse: 256, nats: 8, bare: 256 };
/** A call that is answered as fast as this shows that the server has recovered. */
const promptMs = 100;

/** A millisecond of work, however busy the machine is. */
function work() {
  const before = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(before);
    if (user + system >= 1_000) return "done";
  }
}

const servers = {
  tcp: async () => (await serveSocket(createServer({ work }), { port: 0 })).port,
  ws: async () => (await serveHttp(createServer({ work }), { port: 0 })).port,
  http: async () => (await serveHttp(createServer({ work }), { port: 0 })).port,
  sse: async () => (await serveHttp(createServer({ work }), { port: 0 })).port,
  async unix() {
    const folder = mkdtempSync(join(tmpdir(), "callwire-overload-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    return (await serveSocket(createServer({ work }), { path: join(folder, "o.sock") })).path;
  },
  async nats(port) {
    await serveNats(createServer({ work }), await connectNats({ port }), { subject: "overload" });
    return port;
  },
  stdio: async () => void serveStdio(createServer({ work })),

  async bare() {
    const server = createHttpServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      const { id } = JSON.parse(body);
      const reply = JSON.stringify({ jsonrpc: "2.0", result: work(), id });
      response.writeHead(200, { "Content-Type": "application/json" }).end(reply);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return server.address().port;
  },
};

/**
 * Calls that were sent and wait for their reply: by id, when each was due, and a function to call
 * with its outcome.
 */
const open = new Map();
let nextId = 1;
let send;

function call(dueAt) {
  return new Promise((resolve) => {
    const id = nextId++;
    open.set(id, { dueAt, resolve });
    send(id, `{"jsonrpc":"2.0","method":"work","id":${id}}`);
  });
}

function settle(id, outcome) {
  const waiting = open.get(id);
  open.delete(id);
  waiting?.resolve(outcome);
}

function received(text) {
  const { id, result, error } = JSON.parse(text);
  settle(id, result === "done" ? "good" : error?.code === -32005 ? "refused" : "failed");
}

/** Calls that have waited for too long count as abandoned. */
function giveUp() {
  const before = performance.now() - patienceMs;
  for (const [id, { dueAt }] of open) {
    if (dueAt > before) break;
    settle(id, "late");
    dropped?.(id);
  }
}
let dropped;

/** The server on stdio is a child of the load. */
let child;
let askChild;

function askServer(question, content) {
  if (child === undefined) {
    const stdio = ["pipe", "pipe", "pipe", "ipc"];
    child = start("overload-end.mjs", [], { role: "candidate", stdio });
    askChild = asking(child, "the stdio server");
  }
  return askChild(question, content);
}

const links = {
  async stdio() {
    lines(child.stdout);
    send = (_, text) => child.stdin.write(`${text}\n`);
  },

  tcp: (port) => byLines(() => connectSocket(port, "127.0.0.1").setNoDelay(true)),
  unix: (path) => byLines(() => connectSocket(path)),

  async nats(port) {
    const all = await Promise.all(
      Array.from({ length: connections.nats }, async () => {
        const connection = await connectNats({ port });
        const reply = `_INBOX.overload${nextId++}`;
        connection.subscribe(reply, { callback: (_, message) => received(message.string()) });
        await connection.flush();
        return { connection, reply };
      }),
    );
    send = (id, text) => {
      const { connection, reply } = all[id % all.length];
      connection.publish("overload.$any", text, { reply });
    };
  },

  async ws(port) {
    const sockets = await Promise.all(
      Array.from({ length: connections.ws }, async () => {
        const socket = new WebSocket(`ws://127.0.0.1:${port}/rpc/ws`);
        await once(socket, "open");
        socket.on("message", (data) => received(data.toString()));
        return socket;
      }),
    );
    send = (id, text) => sockets[id % sockets.length].send(text);
  },

  http: (port) => pooled(port, "http"),
  sse: (port) => pooled(port, "sse"),
  bare: (port) => pooled(port, "bare"),
};

async function byLines(connect) {
  const sockets = await Promise.all(
    Array.from({ length: connections.tcp }, async () => {
      const socket = connect();
      await once(socket, "connect");
      lines(socket);
      return socket;
    }),
  );
  send = (id, text) => sockets[id % sockets.length].write(`${text}\n`);
}

function lines(socket) {
  let rest = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part !== "") received(part);
  });
}

/** One request at a time on each connection; one that takes too long costs its connection, as with other clients. */
function pooled(port, wire) {
  const accept = wire === "sse" ? "Accept: text/event-stream\r\n" : "";
  const free = [];
  const waiting = [];
  const busy = new Map();
  let count = 0;
  const open1 = () => {
    count++;
    const socket = connectSocket(port, "127.0.0.1").setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => {
      count--;
      if (socket.id !== undefined) {
        busy.delete(socket.id);
        settle(socket.id, "failed");
      }
      const at = free.indexOf(socket);
      if (at !== -1) free.splice(at, 1);
      next();
    });
    socket.on("connect", () => idle(socket));
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk) => {
      text += chunk;
      const head = text.indexOf("\r\n\r\n");
      if (head === -1) return;
      const length = Number(/content-length: *(\d+)/i.exec(text.slice(0, head))?.[1] ?? Number.NaN);
      const body = text.slice(head + 4);
      const isWhole = Number.isNaN(length) ? body.endsWith("0\r\n\r\n") : body.length >= length;
      if (!isWhole) return;
      const status = Number(text.slice(9, 12));
      text = "";
      const { id } = socket;
      socket.id = undefined;
      busy.delete(id);
      settle(id, status === 200 ? "good" : status === 503 ? "refused" : "failed");
      idle(socket);
    });
  };
  const idle = (socket) => {
    if (socket.destroyed) return;
    free.push(socket);
    next();
  };
  const next = () => {
    while (waiting.length > 0) {
      if (!open.has(waiting[0].id)) {
        waiting.shift();
        continue;
      }
      const socket = free.pop();
      if (socket === undefined) {
        if (count < connections[wire]) open1();
        return;
      }
      const { id, text } = waiting.shift();
      socket.id = id;
      busy.set(id, socket);
      socket.write(
        `POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${accept}Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
      );
    }
  };
  send = (id, text) => {
    waiting.push({ id, text });
    next();
  };
  dropped = (id) => busy.get(id)?.destroy();
}

/** How long it takes until a call is answered promptly again. */
async function recovery() {
  const floodedUntil = performance.now();
  for (;;) {
    const before = performance.now();
    const isGood = (await call(before)) === "good";
    const now = performance.now();
    if ((isGood && now - before < promptMs) || now - floodedUntil > 30_000) {
      return now - floodedUntil;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

answering({
  serve: ({ wire, nats }) => servers[wire](nats),

  connect: ({ wire, port }) => links[wire](port),

  ofServer: ({ question, content }) => askServer(question, content),

  /** The most memory that the process has used so far. */
  mostBytes: () => process.resourceUsage().maxRSS * 1024,

  cpu() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  },

  async peak({ milliseconds }) {
    const endsAt = performance.now() + milliseconds;
    let good = 0;
    const one = async () => {
      while (performance.now() < endsAt) if ((await call(performance.now())) === "good") good++;
    };
    await Promise.all(Array.from({ length: 32 }, one));
    return good;
  },

  async flood({ perSecond, milliseconds }) {
    const counts = { sent: 0, good: 0, refused: 0, late: 0, failed: 0 };
    const calls = [];
    const startedAt = performance.now();
    await new Promise((resolve) => {
      const timer = setInterval(() => {
        const now = performance.now();
        giveUp();
        const due = Math.min(now - startedAt, milliseconds) * (perSecond / 1_000);
        while (counts.sent < due) {
          calls.push(call(now).then((outcome) => counts[outcome]++));
          counts.sent++;
        }
        if (now - startedAt < milliseconds) return;
        clearInterval(timer);
        resolve();
      }, 2);
    });
    const timer = setInterval(giveUp, 20);
    const recoveryMs = await recovery();
    await Promise.all(calls);
    clearInterval(timer);
    return { ...counts, recoveryMs };
  },
});
