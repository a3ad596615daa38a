import { createServer } from "callwire";
import { serveStdio } from "callwire/stdio";
import { methods } from "../quickstart/methods.ts";

serveStdio(createServer(methods));
