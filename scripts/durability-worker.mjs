// A worker of durability.mjs, which kills it: `durability-worker.mjs <JSON>`.
import { appendFileSync } from "node:fs";
import { connect } from "@nats-io/transport-node";
import { createServer, silentLog } from "callwire";
import { serveDurable } from "callwire/nats/jetstream";

const { port, ledger, queue } = JSON.parse(process.argv[2] ?? "{}");
const methods = {
  /** Written at once and before it is acknowledged, in one file of all workers, so that its order is that of the calls. */
  note(/** @type {string} */ key, /** @type {number} */ number) {
    appendFileSync(ledger, `${key} ${number}\n`);
  },
};
const connection = await connect({ port, reconnectTimeWait: 50, maxReconnectAttempts: -1 });
const server = createServer(methods, { log: silentLog });
await serveDurable(server, connection, {
  ...queue,
  ackWaitMs: 5_000,
  delayMs: 20,
  maxTries: 1_000,
});
process.send?.("ready");
process.on("disconnect", () => process.exit());
