// The board in Express; MOUNT=fastify or MOUNT=hono takes another framework. BOARD_DB keeps the tasks in a file,
// and BOARD_AUDIT the audit log.
import { auditFile } from "callwire/security/node";
import { createBoard } from "./board.ts";
import { mountExpress } from "./express.ts";
import { mountFastify } from "./fastify.ts";
import { mountHono } from "./hono.ts";
import type { Mount } from "./mount.ts";
import { buildPage } from "./page.ts";

const mounts: Readonly<Record<string, Mount>> = {
  express: mountExpress,
  fastify: mountFastify,
  hono: mountHono,
};

const { MOUNT = "express", BOARD_DB = ":memory:", PORT = "8000" } = process.env;
const mount = Object.hasOwn(mounts, MOUNT) ? mounts[MOUNT] : undefined;
if (mount === undefined) throw new Error(`MOUNT must be one of ${Object.keys(mounts).join(", ")}`);

const board = createBoard({
  file: BOARD_DB,
  // Of an example only: a real one comes from outside.
  secret: process.env.BOARD_SECRET ?? "a secret of at least thirty-two bytes",
  passwords: { ann: "apple", bob: "banana" },
  audit: process.env.BOARD_AUDIT === undefined ? () => {} : auditFile(process.env.BOARD_AUDIT),
});
const mounted = await mount(board, await buildPage(), Number(PORT));
console.log(`Listening on ${mounted.url} (log in as ann with apple, or as bob with banana)`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, async () => {
    await mounted.close();
    await board.close();
  });
}
