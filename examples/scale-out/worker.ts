// One worker: `worker.ts <NATS port> <name>`. Any number of workers share the calls.
import { connect } from "@nats-io/transport-node";
import { createServer } from "callwire";
import { serveNats } from "callwire/nats";
import { methodsOf } from "./methods.ts";

// The parent process may already have exited.
process.once("disconnect", () => process.exit());
if (process.connected === false) process.exit();

const [port, name = "1"] = process.argv.slice(2);
const connection = await connect({ port: Number(port), name: `worker ${name}` });
const server = createServer(methodsOf(name));
await serveNats(server, connection, { subject: "scale", name: "primes" });
process.send?.("ready");

// Finish running calls and accept no new ones, so that a restart loses none.
process.once("SIGTERM", async () => {
  try {
    await server.close();
    await connection.drain();
  } finally {
    process.exit();
  }
});
