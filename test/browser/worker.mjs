// Runs in a Web Worker: serves the portable methods to the page that created it.
import { servePort } from "callwire/worker";
import { portableServer } from "../runtimes/portable-methods.mjs";

servePort(portableServer(), /** @type {import("callwire/worker").Port} */ (globalThis));
