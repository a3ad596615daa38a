// The last hop: a program that receives calls over stdio.
import { createServer } from "callwire";
import { tracing } from "callwire/observability/otel";
import { serveStdio } from "callwire/stdio";
import { register } from "./telemetry.ts";

const provider = register("stock");
const methods = { "stock/reserve": (item: string) => ({ item, reserved: true }) };
await serveStdio(createServer(methods, { use: [tracing()] })).closed;
await provider.shutdown();
