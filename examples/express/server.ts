import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "callwire";
import { nodeHandler } from "callwire/http/node";
import express from "express";
import { methods } from "../quickstart/methods.ts";

const app = express();
app.get("/", (_request, response) => response.send("An ordinary Express page"));
app.use("/rpc", nodeHandler(createServer(methods)));

const listening = app.listen(Number(process.env.PORT ?? 8000), "127.0.0.1");
await once(listening, "listening");
const { port } = listening.address() as AddressInfo;
console.log(`Listening on http://127.0.0.1:${port}/rpc`);
