// Lets processes run a few at a time. Each one connects, sends its name, and waits for an answer;
// its turn lasts until it disconnects.
import { createServer } from "node:net";

/** How long nobody may come or go before those who want to be alone get their turn. */
const quietMs = 500;

/**
 * @param {{ atOnce: number, alone: ReadonlySet<string> }} options `alone` names those who run when nobody else does.
 * @returns {Promise<{ port: number, close(): void }>}
 */
export async function openTurnstile({ atOnce, alone }) {
  /** @type {{ name: string, socket: import("node:net").Socket }[]} */
  const waiting = [];
  let running = 0;
  /** Whether the one that runs wants to be alone; whoever comes late waits for its end. */
  let isAlone = false;
  /** @type {NodeJS.Timeout | undefined} */
  let quiet;

  /** @param {number} at */
  const admit = (at) => {
    const [entry] = waiting.splice(at, 1);
    if (entry === undefined) return;
    running++;
    isAlone = alone.has(entry.name);
    entry.socket.write("go\n");
  };
  const next = () => {
    clearTimeout(quiet);
    while (running < atOnce && !isAlone) {
      const at = waiting.findIndex(({ name }) => !alone.has(name));
      if (at === -1) break;
      admit(at);
    }
    if (running > 0 || waiting.length === 0) return;
    quiet = setTimeout(() => admit(0), quietMs);
  };
  const server = createServer((socket) => {
    socket.setEncoding("utf8").on("error", () => {});
    socket.once("data", (text) => {
      const entry = { name: String(text).trim(), socket };
      waiting.push(entry);
      socket.on("close", () => {
        const at = waiting.indexOf(entry);
        if (at === -1) {
          running--;
          isAlone = false;
        } else waiting.splice(at, 1);
        next();
      });
      next();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { port, close: () => server.close() };
}
