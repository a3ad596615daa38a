// One worker: `worker.ts <port of NATS> <name>`. Any number of them share the calls.
import { connect } from "@nats-io/transport-node";
import { createServer } from "callwire";
import { serveNats } from "callwire/nats";
import { methodsOf } from "./methods.ts";

// Whoever started it may be gone, and may have been before this line.
process.once("disconnect", () => process.exit());
if (process.connected === false) process.exit();

const [port, name = "1"] = process.argv.slice(2);
const connection = await connect({ port: Number(port), name: `worker ${name}` });
const server = createServer(methodsOf(name));
await serveNats(server, connection, { subject: "scale", name: "primes" });
process.send?.("ready");

// Calls that were sent here are finished, and no new ones come: a restart loses none.
process.once("SIGTERM", async () => {
  try {
    await server.close();
    await connection.drain();
  } finally {
    process.exit();
  }
});
