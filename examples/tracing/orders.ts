// The second hop: receives a call over WebSocket, and requests the stock over stdio.
import { fileURLToPath } from "node:url";
import { createClient, createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { tracing } from "callwire/observability/otel";
import { stdioLink } from "callwire/stdio";
import { register } from "./telemetry.ts";

register("orders");
const stockFile = fileURLToPath(new URL("stock.ts", import.meta.url));
const stock = createClient(
  stdioLink(process.execPath, [...process.execArgv, stockFile], { env: process.env }),
  { use: [tracing()] },
);

const methods = {
  "orders/place": async (item: string) => {
    const { reserved } = await stock.call<{ reserved: boolean }>("stock/reserve", [item]);
    return reserved ? "placed" : "sold out";
  },
};
const { url } = await serveHttp(createServer(methods, { use: [tracing()] }), { port: 0 });
console.log(url.replace("http", "ws"));
