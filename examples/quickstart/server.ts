import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { methods } from "./methods.ts";

const server = createServer(methods);
const { url } = await serveHttp(server, { port: Number(process.env.PORT ?? 8000) });
console.log(`Listening on ${url}`);
