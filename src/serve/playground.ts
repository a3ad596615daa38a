import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { NodeHandler } from "../transports/http/node-handler.ts";

export interface PlaygroundOptions {
  /** Paths of this server that the page can call; the first is selected. @default ["/rpc"] */
  readonly endpoints?: readonly string[];
  /** The server behind this one, to be shown if this one only forwards. @default none */
  readonly target?: string;
  /** The wires that the page offers. @default all */
  readonly wires?: readonly ("http" | "websocket" | "sse")[];
}

/** From dist/serve/, from the sources, and from a bundle in dist/node/. */
const places = ["../playground/", "../../dist/playground/", "../../playground/"];

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

/** The page may load from and call only its own server, and must not be framed. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const guards = {
  "Content-Security-Policy": policy,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

/**
 * Serves the playground to requests of `node:http`, for servers that `serveHttp` did not make.
 * It has the paths `/`, `/playground.json` and those below `/assets/`, and answers 404 to others.
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { playgroundHandler } from "callwire/http/node";
 *
 * const page = playgroundHandler({ endpoints: ["/api/rpc"] });
 * createServer(page).listen(8080, "127.0.0.1");
 * ```
 */
export function playgroundHandler(options: PlaygroundOptions = {}): NodeHandler {
  const page = new Playground(options);
  return (request, response) => page.handle(request, response);
}

/** The files of the page, in memory. */
export class Playground {
  readonly #files: ReadonlyMap<string, File>;

  constructor(options: PlaygroundOptions = {}) {
    const { endpoints = ["/rpc"], target, wires } = options;
    const settings = Buffer.from(JSON.stringify({ endpoints, target, wires }));
    this.#files = new Map([...readFiles(), ["/playground.json", new File(".json", settings)]]);
  }

  has(path: string): boolean {
    return this.#files.has(path);
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const [path = ""] = (request.url ?? "").split("?", 1);
    const file = this.#files.get(path);
    if (file === undefined) response.writeHead(404, guards).end();
    else if (request.method === "GET" || request.method === "HEAD") file.send(request, response);
    else response.writeHead(405, { ...guards, Allow: "GET, HEAD" }).end();
  }
}

class File {
  readonly #type: string;
  readonly #bytes: Buffer;
  readonly #tag: string;
  /** The names of assets contain a hash of their content. */
  readonly #cache: string;
  #packed: Buffer | undefined;

  constructor(extension: string, bytes: Buffer, isAsset = false) {
    this.#type = types[extension] ?? "application/octet-stream";
    this.#bytes = bytes;
    this.#tag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
    this.#cache = isAsset ? "public, max-age=31536000, immutable" : "no-cache";
  }

  send(request: IncomingMessage, response: ServerResponse): void {
    const common = { ...guards, ETag: this.#tag, "Cache-Control": this.#cache };
    if (request.headers["if-none-match"] === this.#tag) {
      response.writeHead(304, common).end();
      return;
    }
    const packs = /(^|,)\s*gzip\s*(,|$)/i.test(String(request.headers["accept-encoding"] ?? ""));
    if (packs) this.#packed ??= gzipSync(this.#bytes, { level: 9 });
    const body = (packs ? this.#packed : undefined) ?? this.#bytes;
    response.writeHead(200, {
      ...common,
      "Content-Type": this.#type,
      "Content-Length": body.length,
      Vary: "Accept-Encoding",
      ...(packs ? { "Content-Encoding": "gzip" } : undefined),
    });
    response.end(request.method === "HEAD" ? undefined : body);
  }
}

function readFiles(): [path: string, File][] {
  const folder = places
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((path) => existsSync(`${path}index.html`));
  if (folder === undefined) throw new Error("the playground is not built; run npm run build");
  const read = (name: string, isAsset: boolean): File =>
    new File(extname(name), readFileSync(folder + name), isAsset);
  return [
    ["/", read("index.html", false)],
    ...readdirSync(`${folder}assets`).map((name): [string, File] => [
      `/assets/${name}`,
      read(`assets/${name}`, true),
    ]),
  ];
}
