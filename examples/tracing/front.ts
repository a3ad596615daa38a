// The first hop: receives a call over HTTP, and requests the order over WebSocket.
import { createClient, createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { tracing } from "callwire/observability/otel";
import { webSocketLink } from "callwire/ws";
import { register } from "./telemetry.ts";

register("front");
const orders = createClient(webSocketLink(process.env.ORDERS_URL ?? ""), { use: [tracing()] });

const methods = { "shop/buy": (item: string) => orders.call("orders/place", [item]) };
const { url } = await serveHttp(createServer(methods, { use: [tracing()] }), { port: 0 });
console.log(url);
