// The portable methods in a Worker of Cloudflare's runtime, over HTTP and WebSocket.
import { a2aAgent, a2aHandler } from "callwire/a2a";
import { fetchHandler } from "callwire/http";
import { mcpFetchHandler, mcpServer, tool } from "callwire/mcp";
import { wsHandler } from "callwire/ws";
import { portableServer } from "./portable-methods.mjs";

const server = portableServer();
const handler = fetchHandler(server);
const hooks = wsHandler(server);
const parrot = a2aHandler(
  a2aAgent({
    card: { name: "Parrot", description: "Repeats" },
    async *execute({ text }) {
      for (const word of text.split(" ")) yield word;
    },
  }),
);
const tools = mcpFetchHandler(
  mcpServer(
    {
      add: (/** @type {number} */ a, /** @type {number} */ b) => a + b,
      ask: tool({}, async (_, call) => {
        call.progress({ progress: 1 });
        return (await call.elicit("Sure?", { type: "object", properties: {} })).action;
      }),
    },
    { name: "worker", version: "1.0.0" },
  ),
);

export default {
  /** @param {Request} request */
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/mcp") return tools(request);
    if (pathname === "/a2a" || pathname.startsWith("/.well-known/")) return parrot(request);
    if (request.headers.get("upgrade") !== "websocket") return handler(request);
    const verdict = await hooks.upgrade(request);
    if (verdict instanceof Response) return verdict;
    const { WebSocketPair } = /** @type {any} */ (globalThis);
    const [client, socket] = Object.values(new WebSocketPair());
    socket.accept();
    socket.addEventListener("message", (/** @type {any} */ { data }) =>
      hooks.message(socket, data),
    );
    socket.addEventListener("close", (/** @type {any} */ details) => hooks.close(socket, details));
    hooks.open(socket);
    return new Response(null, /** @type {any} */ ({ status: 101, webSocket: client }));
  },
};
