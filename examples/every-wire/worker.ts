import { parentPort } from "node:worker_threads";
import { createServer } from "callwire";
import { servePort } from "callwire/worker";
import { methods } from "../quickstart/methods.ts";

if (parentPort !== null) servePort(createServer(methods), parentPort);
