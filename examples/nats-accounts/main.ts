// Two tenants call the same workers, and neither can read the other's replies.
import { fileURLToPath } from "node:url";
import { connect } from "@nats-io/transport-node";
import { createClient, createServer } from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { methods } from "../quickstart/methods.ts";
import { startNats } from "../scale-out/nats-server.ts";

const nats = await startNats(["-c", fileURLToPath(new URL("nats.conf", import.meta.url))]);
const login = (user: string) =>
  connect({ port: nats.port, user, pass: `${user}-secret`, name: user });
const [worker, blue, green] = await Promise.all([login("worker"), login("blue"), login("green")]);

const server = createServer(methods);
await serveNats(server, worker, { subject: "rpc" });

// Green subscribes to everything that it may read.
const overheard: string[] = [];
green.subscribe(">", { callback: (_, message) => void overheard.push(message.string()) });
await green.flush();

const client = createClient<typeof methods>(natsLink(blue, { subject: "rpc" }));
console.log(`blue: 2 + 3 = ${await client.api.math.add({ a: 2, b: 3 })}`);
const items: number[] = [];
for await (const n of client.api.math.count({ to: 3 })) items.push(n);
console.log(`blue: counted ${items.join(" ")}`);

// After a flush, all messages for green have arrived.
await green.flush();
console.log(`green overheard ${overheard.length} messages`);
const own = createClient<typeof methods>(natsLink(green, { subject: "rpc" }));
console.log(`green: 20 + 22 = ${await own.api.math.add({ a: 20, b: 22 })}`);

await server.close();
await Promise.all([worker, blue, green].map((connection) => connection.close()));
await nats.stop();
