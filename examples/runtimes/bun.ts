// HTTP and WebSocket on Bun: `bun examples/runtimes/bun.ts`.
import { createServer } from "callwire";
import { fetchHandler } from "callwire/http";
import { wsHandler } from "callwire/ws";
import { methods } from "../quickstart/methods.ts";

/** What this example uses of Bun; with the package @types/bun it is not needed. */
interface BunServer {
  readonly port: number;
  upgrade(request: Request, options: { data: object }): boolean;
}
declare const Bun: {
  serve(options: {
    port: number;
    hostname: string;
    websocket: object;
    fetch(request: Request, bun: BunServer): Promise<Response | undefined>;
  }): BunServer;
};

const server = createServer(methods);
const handle = fetchHandler(server);
const websocket = wsHandler(server);

const { port } = Bun.serve({
  port: Number(process.env.PORT ?? 8000),
  hostname: "127.0.0.1",
  websocket,
  async fetch(request, bun) {
    // With `bun`, limits per address know the address of the client.
    if (request.headers.get("upgrade") !== "websocket") return handle(request, bun);
    const verdict = await websocket.upgrade(request);
    if (verdict instanceof Response) return verdict;
    if (bun.upgrade(request, { data: { ...verdict, request } })) return undefined;
    return new Response("not a WebSocket", { status: 400 });
  },
});
console.log(`Listening on http://127.0.0.1:${port}/rpc`);
