/** An agent in a process of its own, which the tests kill: works until it is. */
import { createServer } from "callwire";
import { a2aAgent } from "callwire/a2a";
import { a2aMounts } from "callwire/a2a/node";
import { PostgresTaskStore } from "callwire/a2a/postgres";
import { serveHttp } from "callwire/http/node";
import pg from "pg";

const pool = new pg.Pool(JSON.parse(process.argv[2] ?? "{}"));
const agent = a2aAgent({
  card: { name: "Worker", description: "Never ends" },
  store: new PostgresTaskStore(pool),
  async *execute() {
    yield "begun";
    await new Promise(() => setInterval(() => {}, 1000));
  },
});
const { port } = await serveHttp(createServer({}), { port: 0, mounts: a2aMounts(agent) });
console.log(port);
