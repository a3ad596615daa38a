/** The server of `workers.mjs`, which runs again in each worker. */
import cluster from "node:cluster";
import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";

const workMicros = 1_000;

function work(a, b) {
  const before = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(before);
    if (user + system >= workMicros) return a + b;
  }
}

const server = createServer({ work });
const { port } = await serveHttp(server, { port: 0, workers: Number(process.argv[2]) });
if (cluster.isPrimary) {
  console.log(port);
  // The input has ended, so the benchmark is gone.
  process.stdin.on("end", () => void server.close()).resume();
}
