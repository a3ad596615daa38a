/** Keep-alive HTTP connections with one request in flight on each, on bare sockets to be cheap. */
import { connect as connectSocket } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { workloads } from "../workloads.mjs";

const connections = 64;

/** Connections to a port that are reopened if the server has closed them. */
export function keepAlive(port) {
  const open = new Set();

  /** Servers close idle connections; new ones are made before the clock starts. */
  async function ready() {
    const missing = Array.from({ length: connections - open.size }, () => openConnection(port));
    for (const connection of await Promise.all(missing)) {
      open.add(connection);
      connection.socket.once("close", () => open.delete(connection));
    }
  }

  return { open, ready };
}

/**
 * `requests` replaces the JSON-RPC requests for a peer with another protocol; `headers` are sent
 * with each of them. A request whose replies differ has a `pattern` instead of a `reply`. If
 * replies are `decoded`, their bytes are counted.
 */
export async function connect({ port, path = "/", requests = {}, headers }) {
  const { open, ready } = keepAlive(port);

  return {
    ready,

    async prepare(name) {
      const [usual] = workloads[name] ?? [{}];
      const target = { path, headers, ...usual, ...requests[name] };
      const request = requestBytes(port, target);
      await ready();
      const { pattern, decoded } = target;
      const isMatch = pattern === undefined ? undefined : (body) => new RegExp(pattern).test(body);
      const first = await firstReply(
        [...open][0],
        request,
        isMatch ?? equals(target.reply, decoded),
      );
      const isExpected = isMatch ?? ((body) => body === first);
      const run = (ms) => exchange([...open], request, isExpected, ms);
      return decoded === undefined ? run : Object.assign(run, { bytes: first.length });
    },
  };
}

/** `headers` are lines to add; they may replace what is accepted. */
function requestBytes(port, { path, text, headers = ["Accept: application/json"] }) {
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    "Content-Type: application/json",
    ...headers,
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${text}`);
}

async function openConnection(port) {
  const socket = connectSocket(port, "127.0.0.1").setNoDelay(true);
  const connection = { socket, unread: "", onReply: undefined, onLost: undefined };
  socket.on("data", (chunk) => {
    const text = connection.unread + chunk.latin1Slice();
    const reply = parseReply(text);
    connection.unread = reply === undefined ? text : "";
    // Without a request it is a 408: servers close connections that are silent for long.
    if (reply !== undefined) connection.onReply?.(reply);
  });
  socket.on("error", () => {});
  socket.on("close", () => connection.onLost?.());
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return connection;
}

function equals(expected, decoded = (body) => body) {
  return (body) => isDeepStrictEqual(JSON.parse(decoded(body)), expected);
}

function firstReply(connection, request, isExpected) {
  return new Promise((resolve, reject) => {
    connection.onLost = () => reject(new Error("the server closed the connection"));
    connection.onReply = ({ status, body }) => {
      connection.onLost = undefined;
      if (status === 200 && isExpected(body)) resolve(body);
      else reject(new Error(`wrong reply: ${status} ${body.slice(0, 200)}`));
    };
    connection.socket.write(request);
  });
}

/** Keeps every connection busy for `ms`, compares each reply and resolves to their number. */
function exchange(open, request, isExpected, ms) {
  return new Promise((resolve, reject) => {
    let calls = 0;
    let busy = open.length;
    let over = false;
    setTimeout(() => {
      over = true;
    }, ms);
    const fail = (message) => {
      over = true;
      reject(new Error(message));
    };
    for (const connection of open) {
      connection.onLost = () => fail("the server closed a connection in mid-call");
      connection.onReply = ({ status, body }) => {
        if (status !== 200 || !isExpected(body))
          return fail(`wrong reply: ${status} ${body.slice(0, 200)}`);
        calls++;
        if (!over) return connection.socket.write(request);
        connection.onLost = undefined;
        busy--;
        if (busy === 0) resolve(calls);
      };
      connection.socket.write(request);
    }
  });
}

/** Status and body of a complete reply, or undefined while some of it is missing. */
function parseReply(text) {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const head = text.slice(0, headEnd);
  const status = Number(head.slice(9, 12));
  const rest = text.slice(headEnd + 4);
  const length = /\r\ncontent-length: (\d+)/i.exec(head);
  if (length !== null) {
    const missing = Number(length[1]) - rest.length;
    if (missing < 0) throw new Error("bytes after the end of a reply");
    return missing === 0 ? { status, body: rest } : undefined;
  }
  if (/\r\ntransfer-encoding: chunked/i.test(head)) {
    return rest.endsWith("0\r\n\r\n") ? { status, body: joinChunks(rest) } : undefined;
  }
  throw new Error(`a reply without a length: ${head}`);
}

function joinChunks(text) {
  let body = "";
  let at = 0;
  for (;;) {
    const lineEnd = text.indexOf("\r\n", at);
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    if (size === 0) return body;
    body += text.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
}
