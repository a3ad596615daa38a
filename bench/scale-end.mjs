/** A worker or a caller of `scale.mjs`. */
import { connect } from "@nats-io/transport-node";
import { createClient, createServer } from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { keepInFlight } from "./exercise/in-flight.mjs";
import { answering } from "./processes.mjs";

const inFlight = 64;
/**
 * How many calls of a worker wait at the same time, like queries to a database with that many
 * connections.
 */
const places = 8;
let client;

const methods = {
  add: (a, b) => a + b,

  "250 µs of CPU"(a, b) {
    const before = process.cpuUsage();
    for (;;) {
      const { user, system } = process.cpuUsage(before);
      if (user + system >= 250) return a + b;
    }
  },

  async "5 ms of waiting"(a, b) {
    if (taken === places) await new Promise((resolve) => waiting.push(resolve));
    else taken++;
    await new Promise((resolve) => setTimeout(resolve, 5));
    const next = waiting.shift();
    if (next === undefined) taken--;
    else next();
    return a + b;
  },
};
const waiting = [];
let taken = 0;

answering({
  async serve({ port, subject, work }) {
    const server = createServer({ add: methods[work] });
    await serveNats(server, await connect({ port }), { subject });
  },

  async connect({ port, subject }) {
    client = createClient(natsLink(await connect({ port }), { subject }));
  },

  load: ({ milliseconds }) =>
    keepInFlight(inFlight, milliseconds, async (a) => {
      if ((await client.call("add", [a, 2])) !== a + 2) throw new Error("wrong sum");
    }),

  cpu() {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
});
