import { createServer } from "callwire";
import { type A2aAgent, type A2aAgentOptions, a2aAgent } from "callwire/a2a";
import { a2aMounts } from "callwire/a2a/node";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { onTestFinished } from "vitest";

export const card = { name: "Test agent", description: "Does what a test wants" };

export interface Served {
  readonly agent: A2aAgent;
  readonly http: HttpServer;
  /** The address of the agent. */
  readonly base: string;
  /** Sends a call; returns the reply unchanged. */
  ask(method: string, params: object, headers?: Record<string, string>): Promise<Reply>;
  /** Sends a call that streams, and yields its events as they arrive. */
  events(method: string, params: object, headers?: Record<string, string>): AsyncGenerator<Parsed>;
}

/** What came over the wire. */
export type Parsed = ReturnType<typeof JSON.parse>;

export interface Reply {
  readonly result?: Parsed;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Parsed };
}

/** An agent on a real server, which is closed after the test. */
export async function serveAgent(
  options: Partial<A2aAgentOptions> & Pick<A2aAgentOptions, "execute">,
): Promise<Served> {
  const agent = a2aAgent({ card, ...options });
  const http = await serveHttp(createServer({}), { port: 0, mounts: a2aMounts(agent) });
  onTestFinished(async () => {
    await agent.close({ drainMs: 0 });
    await http.close();
  });
  const base = `http://127.0.0.1:${http.port}`;
  const post = (method: string, params: object, headers: Record<string, string>) =>
    fetch(`${base}/a2a`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: "one", method, params }),
    });
  return {
    agent,
    http,
    base,
    ask: async (method, params, headers = {}) =>
      (await post(method, params, headers)).json() as Promise<Reply>,
    async *events(method, params, headers = {}) {
      const response = await post(method, params, { accept: "text/event-stream", ...headers });
      if (response.body === null) return;
      let text = "";
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
          const event = text.slice(0, end);
          text = text.slice(end + 2);
          if (event.startsWith("data: ")) yield JSON.parse(event.slice(6));
        }
      }
    },
  };
}

let messages = 0;

/** The params of a message with this text. */
export function says(
  text: string,
  more: object = {},
): { message: Parsed; [member: string]: unknown } {
  messages++;
  return { message: { messageId: `m${messages}`, role: "ROLE_USER", parts: [{ text }], ...more } };
}

/** A promise that a test resolves. */
export function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

/** All items, in order. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
