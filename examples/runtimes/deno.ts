// HTTP and WebSocket on Deno: `deno run --allow-net --allow-env --allow-read examples/runtimes/deno.ts`.
import { createServer } from "callwire";
import { fetchHandler } from "callwire/http";
import { wsHandler } from "callwire/ws";
import { methods } from "../quickstart/methods.ts";

/** What this example uses of Deno, for editors without its types. */
declare const Deno: {
  readonly env: { get(name: string): string | undefined };
  serve(
    options: { port: number; hostname: string; onListen(address: { port: number }): void },
    handle: (request: Request, info: object) => Promise<Response>,
  ): unknown;
  upgradeWebSocket(request: Request): { socket: WebSocket; response: Response };
};

const server = createServer(methods);
const handle = fetchHandler(server);
const hooks = wsHandler(server);

Deno.serve(
  {
    port: Number(Deno.env.get("PORT") ?? 8000),
    hostname: "127.0.0.1",
    onListen: ({ port }) => console.log(`Listening on http://127.0.0.1:${port}/rpc`),
  },
  async (request, info) => {
    // With `info`, limits per address know the address of the client.
    if (request.headers.get("upgrade") !== "websocket") return handle(request, info);
    const verdict = await hooks.upgrade(request);
    if (verdict instanceof Response) return verdict;
    const { socket, response } = Deno.upgradeWebSocket(request);
    // The same object for all hooks: it identifies the client.
    const peer = Object.assign(socket, verdict, { request });
    socket.onopen = () => hooks.open(peer);
    socket.onmessage = ({ data }) => hooks.message(peer, data);
    socket.onclose = (details) => hooks.close(peer, details);
    return response;
  },
);
