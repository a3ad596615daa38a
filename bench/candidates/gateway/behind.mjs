/** What is behind the gateway, in a process of its own so that its work is not counted. */
import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";

const server = createServer({ add: (a, b) => a + b, echo: (message) => message });
const { port } = await serveHttp(server, { port: 0, host: "127.0.0.1" });
process.send(port);
process.on("disconnect", () => process.exit());
