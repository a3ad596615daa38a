// The last hop: a program that is called over its standard input and output.
import { createServer } from "callwire";
import { tracing } from "callwire/observability/otel";
import { serveStdio } from "callwire/stdio";
import { register } from "./telemetry.ts";

const provider = register("stock");
const methods = { "stock/reserve": (item: string) => ({ item, reserved: true }) };
await serveStdio(createServer(methods, { use: [tracing()] })).closed;
await provider.shutdown();
