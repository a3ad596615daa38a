// HTTP and WebSocket in a Worker of Cloudflare: `wrangler dev examples/runtimes/worker.ts`.
import { createServer } from "callwire";
import { fetchHandler } from "callwire/http";
import { wsHandler } from "callwire/ws";
import { methods } from "../quickstart/methods.ts";

/** What this example uses of Workers; with the package @cloudflare/workers-types it is not needed. */
declare const WebSocketPair: new () => { 0: WebSocket; 1: WebSocket & { accept(): void } };

const server = createServer(methods);
const handle = fetchHandler(server);
const hooks = wsHandler(server);

export default {
  async fetch(request: Request, env: unknown): Promise<Response> {
    if (request.headers.get("upgrade") !== "websocket") return handle(request, env);
    const verdict = await hooks.upgrade(request);
    if (verdict instanceof Response) return verdict;
    const { 0: client, 1: socket } = new WebSocketPair();
    // The same object for all hooks: it identifies the client.
    const peer = Object.assign(socket, verdict, { request });
    socket.accept();
    socket.addEventListener("message", ({ data }) => hooks.message(peer, data));
    socket.addEventListener("close", (details) => hooks.close(peer, details));
    hooks.open(peer);
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  },
};
