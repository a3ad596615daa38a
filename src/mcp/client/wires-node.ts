import type { Agent, request } from "undici";
import { reconnecting } from "../../connection/reconnect.ts";
import { spawnConnection } from "../../transports/stdio/connect.ts";
import type { StdioLinkOptions } from "../../transports/stdio/link.ts";
import { reconnectWithHandshake } from "./channel-wire.ts";
import { mcpHttpLink as fetchWire, type McpHttpLinkOptions } from "./http/http-link.ts";
import type { Send } from "./http/http-sender.ts";
import { inFlightOf } from "./http/in-flight-limit.ts";
import { StreamableHttp } from "./http/streamable-http.ts";
import type { McpWire } from "./wire.ts";

/**
 * A server behind a URL, over Streamable HTTP: `mcpHttpLink("https://example.com/mcp")`.
 * @example
 * ```ts
 * import { mcpClient, mcpHttpLink } from "callwire/mcp/client";
 *
 * const link = mcpHttpLink("https://example.com/mcp", {
 *   headers: { authorization: "Bearer d2hhdCBhIHRva2Vu" },
 * });
 * const client = mcpClient(link, { name: "my-host", version: "1.0.0" });
 * console.log(await client.callTool("math_add", { a: 2, b: 3 }));
 * ```
 */
export function mcpHttpLink(url: string | URL, options: McpHttpLinkOptions = {}): McpWire {
  if (options.fetch !== undefined) return fetchWire(url, options);
  return {
    hasHeaders: true,
    open(end) {
      const pools = new LatePools(inFlightOf(options));
      const release = () => pools.destroy();
      return new StreamableHttp(url, options, end, { send: sendWith(pools), release });
    },
  };
}

interface Pools {
  readonly request: typeof request;
  readonly calls: Agent;
  readonly others: Agent;
}

/** Pools of undici, which is loaded with the first request: it takes long, and a server in a process needs none. */
class LatePools {
  readonly #inFlight: number;
  #loading: Promise<Pools> | undefined;
  ready: Pools | undefined;

  constructor(inFlight: number) {
    this.#inFlight = inFlight;
  }

  load(): Promise<Pools> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  async destroy(): Promise<void> {
    const pools = await this.#loading;
    await Promise.all([pools?.calls.destroy(), pools?.others.destroy()]);
  }

  async #load(): Promise<Pools> {
    const { Agent, request } = await import("undici");
    // undici must not time out: the caller decides how long to wait.
    const patient = { headersTimeout: 0, bodyTimeout: 0 };
    // One more than the calls in flight: the server's stream must be open before the calls that follow it,
    // and undici frees a connection slightly after its reply.
    const calls = new Agent({ ...patient, connections: this.#inFlight + 1 });
    this.ready = { request, calls, others: new Agent(patient) };
    return this.ready;
  }
}

/** Uses undici directly, which is several times faster than `fetch`. */
function sendWith(pools: LatePools): Send {
  return async (url, { method, headers, body, signal, beside }) => {
    const { request, calls, others } = pools.ready ?? (await pools.load());
    const answer = await request(url, {
      dispatcher: beside === true ? others : calls,
      method,
      headers,
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal }),
    });
    return {
      status: answer.statusCode,
      header(name) {
        const value = answer.headers[name];
        return Array.isArray(value) ? value.join(", ") : value;
      },
      chunks: answer.body,
      async discard() {
        await answer.body.dump().catch(() => {});
      },
    };
  };
}

export interface McpStdioLinkOptions
  extends Omit<StdioLinkOptions, "framing" | "service" | "notices" | "log"> {}

/**
 * A server as a child process: `mcpStdioLink("node", ["server.js"])`. It is started with the first
 * request, without a shell, and stopped with the client. If it dies, it is started again.
 * @example
 * ```ts
 * import { mcpClient, mcpStdioLink } from "callwire/mcp/client";
 *
 * await using client = mcpClient(mcpStdioLink("node", ["server.js"]), {
 *   name: "my-host",
 *   version: "1.0.0",
 * });
 * console.log(await client.callTool("math_add", { a: 2, b: 3 }));
 * ```
 */
export function mcpStdioLink(
  command: string,
  args: readonly string[] = [],
  options: McpStdioLinkOptions = {},
): McpWire {
  return {
    hasHeaders: false,
    open: ({ service, log, notices, greet, lost }) =>
      reconnecting(
        () => spawnConnection(command, args, { ...options, service, log, notices }),
        reconnectWithHandshake(options.reconnect, { greet, lost }),
      ),
  };
}
