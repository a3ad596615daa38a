/** The server, or the clients, of `connections.mjs`. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect } from "node:net";
import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { WebSocketServer } from "ws";
import { answering } from "./processes.mjs";

/** Connections that are opened concurrently. */
const atOnce = 64;
const many = 100_000;
const keepAliveTimeoutMs = 600_000;
const add = '{"jsonrpc":"2.0","method":"add","params":[1,2],"id":1}';
const sum = '{"jsonrpc":"2.0","result":3,"id":1}';
const methods = { add: (a, b) => a + b };

const callwire = async () => {
  const limits = { maxConnections: many, maxConnectionsPerAddress: many };
  const http = await serveHttp(createServer(methods), {
    port: 0,
    keepAliveTimeoutMs,
    ...limits,
    // Without pings, like `ws` by default: the clients here do not answer them.
    webSocket: { maxConnections: many, pingMs: Number.POSITIVE_INFINITY },
  });
  return http.port;
};

function listening(server) {
  server.keepAliveTimeout = keepAliveTimeoutMs;
  server.listen(0, "127.0.0.1");
  return once(server, "listening").then(() => server.address().port);
}

const servers = {
  "callwire WebSocket": callwire,
  "callwire HTTP": callwire,

  "bare ws"() {
    const http = createHttpServer();
    const sockets = new WebSocketServer({ server: http, perMessageDeflate: false });
    sockets.on("connection", (socket) => {
      socket.on("message", (data) => {
        const { id, params } = JSON.parse(data.toString());
        socket.send(JSON.stringify({ jsonrpc: "2.0", result: params[0] + params[1], id }));
      });
    });
    return listening(http);
  },

  "bare node:http"() {
    return listening(
      createHttpServer(async (request, response) => {
        let body = "";
        for await (const chunk of request) body += chunk;
        const { id, params } = JSON.parse(body);
        response.writeHead(200, { "Content-Type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", result: params[0] + params[1], id }));
      }),
    );
  },
};

const opened = [];
const post = `POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${add.length}\r\n\r\n${add}`;
const upgrade =
  "GET /rpc/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const mask = Buffer.from([1, 2, 3, 4]);
const frame = Buffer.concat([
  Buffer.from([0x81, 0x80 | add.length]),
  mask,
  Buffer.from(add).map((byte, i) => byte ^ mask[i % 4]),
]);

/** Sends bytes, and waits until the answer has this text. */
function exchanged(socket, bytes, expected) {
  return new Promise((resolve, reject) => {
    let text = "";
    const read = (chunk) => {
      text += chunk.toString("latin1");
      if (!text.includes(expected)) return;
      socket.off("data", read).off("close", lost);
      resolve();
    };
    const lost = () => reject(new Error(`the server closed a connection ${text}`));
    socket.on("data", read).on("close", lost);
    socket.write(bytes);
  });
}

function call({ socket, isWebSocket }) {
  return exchanged(socket, isWebSocket ? frame : post, sum);
}

answering({
  serve: ({ name }) => servers[name](),

  memory() {
    globalThis.gc();
    return process.memoryUsage().rss;
  },

  async open({ port, count, isWebSocket }) {
    let left = count;
    const one = async () => {
      while (left-- > 0) {
        const socket = connect(port, "127.0.0.1").setNoDelay(true);
        await once(socket, "connect");
        const connection = { socket, isWebSocket };
        if (isWebSocket) await exchanged(socket, upgrade, "\r\n\r\n");
        await call(connection);
        opened.push(connection);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, one));
  },

  /** Times of calls, one after the other, spread over all connections. */
  async times({ count }) {
    const times = [];
    for (let i = 0; i < count; i++) {
      const before = performance.now();
      await call(opened[(i * 7919) % opened.length]);
      times.push(performance.now() - before);
    }
    return times.sort((a, b) => a - b);
  },
});
