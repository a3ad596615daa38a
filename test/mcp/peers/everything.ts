/** The server that clients of other authors are tested with, over each wire. */
import { createServer } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { type McpMountOptions, type McpServer, mcpMounts } from "callwire/mcp";
import { root } from "../../entries.ts";

/** How a client starts it as a child. */
export const stdioCommand = {
  command: process.execPath,
  args: ["--import", `${root}examples/typescript.mjs`, `${root}examples/mcp-everything/stdio.ts`],
};

export async function serveEverything(
  server: McpServer,
  options?: McpMountOptions,
): Promise<{ readonly url: URL; readonly http: HttpServer }> {
  const http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(server, options) });
  return { http, url: new URL("/mcp", http.url) };
}

/**
 * Passes on one message in each turn of the loop. When an answer arrives, the official clients
 * forget who listens to its progress, and they deliver progress from the same chunk only after
 * that.
 */
export function oneByOne<T extends object>(transport: T): T {
  let hear: ((...message: unknown[]) => void) | undefined;
  return Object.defineProperty(transport, "onmessage", {
    get() {
      const own = hear;
      return own && ((...message: unknown[]) => void setImmediate(own, ...message));
    },
    set(given: typeof hear) {
      hear = given;
    },
  });
}
