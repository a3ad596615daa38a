import { serveHttp } from "callwire/http/node";
import { portableServer } from "./portable-methods.mjs";
const h = await serveHttp(portableServer(), { port: 18999 });
