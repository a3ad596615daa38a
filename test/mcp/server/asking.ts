/** Sends requests to an MCP server as a client does, without a client. */
import type { McpServer } from "callwire/mcp";
import { MetaKey } from "callwire/mcp";

let id = 0;

export interface Answered {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export function request(method: string, params?: object): object {
  return { jsonrpc: "2.0", id: ++id, method, ...(params && { params }) };
}

/** The members that each request of 2026-07-28 has. */
export function envelope(capabilities: object = {}): Record<string, unknown> {
  return {
    [MetaKey.ProtocolVersion]: "2026-07-28",
    [MetaKey.ClientCapabilities]: capabilities,
  };
}

/** In the legacy era, in process. */
export async function ask(server: McpServer, method: string, params?: object): Promise<Answered> {
  return JSON.parse((await server.receive(JSON.stringify(request(method, params)))) ?? "null");
}

/** In the modern era, in process. */
export function askModern(
  server: McpServer,
  method: string,
  params: object = {},
  capabilities?: object,
): Promise<Answered> {
  return ask(server, method, { ...params, _meta: envelope(capabilities) });
}

export async function callTool(
  server: McpServer,
  name: string,
  args?: object,
): Promise<Record<string, unknown>> {
  const { result, error } = await ask(server, "tools/call", { name, arguments: args });
  if (error !== undefined) throw Object.assign(new Error(error.message), error);
  return result as Record<string, unknown>;
}

/** Tools by name, as in the list. */
export async function toolsOf(
  server: McpServer,
): Promise<Map<string, Record<string, unknown> & { name: string }>> {
  const { result } = await ask(server, "tools/list");
  const tools = result?.tools as (Record<string, unknown> & { name: string })[];
  return new Map(tools.map((tool) => [tool.name, tool]));
}

/** Over HTTP, with the headers that an official client sends. */
export class HttpClient {
  readonly url: string;
  session: string | undefined = undefined;
  readonly revision: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, revision = "2025-11-25", headers: Record<string, string> = {}) {
    this.url = url;
    this.revision = revision;
    this.#headers = headers;
  }

  headers(): Record<string, string> {
    return {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(this.session !== undefined && {
        "mcp-session-id": this.session,
        "mcp-protocol-version": this.revision,
      }),
      ...this.#headers,
    };
  }

  async initialize(capabilities: object = {}): Promise<Response> {
    const response = await this.post(
      request("initialize", {
        protocolVersion: this.revision,
        capabilities,
        clientInfo: { name: "test", version: "1" },
      }),
    );
    this.session = response.headers.get("mcp-session-id") ?? undefined;
    return response;
  }

  post(
    message: unknown,
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    return fetch(this.url, {
      method: "POST",
      headers: { ...this.headers(), ...headers },
      body: typeof message === "string" ? message : JSON.stringify(message),
      ...(signal && { signal }),
    });
  }

  get(headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
    const { "content-type": _, ...own } = this.headers();
    return fetch(this.url, { headers: { ...own, ...headers }, ...(signal && { signal }) });
  }
}

export interface StreamedEvent {
  readonly id: string | undefined;
  readonly data: string;
}

/** The events of a response, as they arrive. */
export async function* eventsOf(response: Response): AsyncGenerator<StreamedEvent> {
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined) yield { id: /^id: (.*)$/m.exec(block)?.[1], data };
    }
  }
}
