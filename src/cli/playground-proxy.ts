import {
  type ClientRequest,
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
  type Server,
  type ServerResponse,
} from "node:http";
import { request as httpsRequest } from "node:https";
import { type Duplex, pipeline } from "node:stream";
import type { NodeHandler } from "callwire/http/node";
import { isOwnHost } from "./host-names.ts";

export interface ForwardingOptions {
  /** The only server that is called; requests cannot change it. */
  readonly target: URL;
  /** The path that is forwarded, for requests and WebSockets. */
  readonly path: string;
  /** Sent with all of them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Limit for the first byte of a reply. */
  readonly timeoutMs: number;
  /** Answers what is at other paths. */
  readonly page: NodeHandler;
}

/** Request headers about the page or its connection, which are not forwarded. */
const dropped =
  /^(host|origin|referer|cookie|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|sec-(?!websocket).*)$/;
/** Response headers that are forwarded; others, such as cookies, belong to another origin. */
const returned = [
  "content-type",
  "content-length",
  "content-encoding",
  "cache-control",
  "retry-after",
  "www-authenticate",
];

/** Forwards one path to another server, so that a local page can call it without CORS. */
export function forwardingServer(options: ForwardingOptions): Server {
  const server = createServer((request, response) => {
    if (!isOwnHost(request)) response.writeHead(403).end();
    else if (!isAt(request, options.path)) options.page(request, response);
    else if (!isOwnPage(request)) response.writeHead(403).end();
    else forward(request, response, options);
  });
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => socket.destroy());
    const isWanted = isAt(request, options.path) && isOwnHost(request) && isOwnPage(request);
    if (isWanted) forwardUpgrade(request, socket, head, options);
    else socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
  });
  return server;
}

function isAt({ url = "" }: IncomingMessage, path: string): boolean {
  return url.split("?", 1)[0] === path;
}

/** Pages of other sites must not reach the target through this server. */
export function isOwnPage({ headers }: IncomingMessage): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  return headers.origin === undefined || headers.origin === `http://${headers.host}`;
}

function forward(
  request: IncomingMessage,
  response: ServerResponse,
  options: ForwardingOptions,
): void {
  const onward = call(request, options, {});
  onward.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, kept(answer.headers));
    pipeline(answer, response, () => {});
  });
  onward.on("error", (error) => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { "content-type": "text/plain" }).end(error.message);
  });
  // Cancel the call if the page is closed.
  response.on("close", () => onward.destroy());
  request.pipe(onward);
}

function forwardUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  options: ForwardingOptions,
): void {
  const onward = call(request, options, { connection: "Upgrade", upgrade: "websocket" });
  onward.on("upgrade", (answer, other, rest) => {
    const lines = Object.entries(answer.headers)
      .filter(([name]) => /^(connection|upgrade|sec-websocket-.*)$/.test(name))
      .map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}\r\n`);
    if (rest.length > 0) socket.write(rest);
    if (head.length > 0) other.write(head);
    pipeline(socket, other, socket, () => {});
  });
  onward.on("response", ({ statusCode }) => {
    onward.destroy();
    socket.end(`HTTP/1.1 ${statusCode} Refused\r\nConnection: close\r\n\r\n`);
  });
  onward.on("error", () => {
    socket.end("HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n");
  });
  socket.on("close", () => onward.destroy());
  onward.end();
}

function call(
  { method, headers }: IncomingMessage,
  { target, headers: own, timeoutMs }: ForwardingOptions,
  more: OutgoingHttpHeaders,
): ClientRequest {
  const isSecure = target.protocol === "https:" || target.protocol === "wss:";
  const settings: RequestOptions = {
    method: method ?? "GET",
    host: target.hostname.replace(/^\[|\]$/g, ""),
    port: target.port === "" ? (isSecure ? 443 : 80) : target.port,
    path: target.pathname + target.search,
    headers: { ...passed(headers), ...own, ...more, host: target.host },
  };
  const onward = isSecure ? httpsRequest(settings) : httpRequest(settings);
  const late = setTimeout(() => {
    onward.destroy(new Error(`no reply within ${timeoutMs / 1000} s`));
  }, timeoutMs);
  for (const event of ["response", "upgrade", "close"]) {
    onward.once(event, () => clearTimeout(late));
  }
  return onward;
}

function passed(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.test(name)));
}

function kept(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(
    returned.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  );
}
