import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "callwire";
import { nodeHandler } from "callwire/http/node";
import { methods } from "../quickstart/methods.ts";

const handle = nodeHandler(createServer(methods));

const listening = http.createServer((request, response) => {
  if (request.url === "/rpc") handle(request, response);
  else response.end("An ordinary page");
});

listening.listen(Number(process.env.PORT ?? 8000), "127.0.0.1");
await once(listening, "listening");
const { port } = listening.address() as AddressInfo;
console.log(`Listening on http://127.0.0.1:${port}/rpc`);
