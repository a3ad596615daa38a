import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:net";

const perBlock = 100;
const blocks = 100;
const first = firstOutside(ephemeralPorts());

let block: Promise<number> | undefined;
let taken = 0;

/** A free port that stays free of other tests until this process ends, even between two servers on it. */
export async function ownPort(): Promise<number> {
  block ??= ownBlock();
  const lock = await block;
  for (;;) {
    const port = lock + 1 + (taken++ % (perBlock - 1));
    const server = createServer();
    if (!(await listens(server, port))) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/**
 * Ports that no other run of tests uses: the process that listens on the first of them has the
 * rest.
 */
async function ownBlock(): Promise<number> {
  const start = Math.floor(Math.random() * blocks);
  for (let i = 0; i < blocks; i++) {
    const lock = first + ((start + i) % blocks) * perBlock;
    const server = createServer();
    if (!(await listens(server, lock))) continue;
    server.unref();
    return lock;
  }
  throw new Error(`all ports from ${first} to ${first + blocks * perBlock} are taken`);
}

function listens(server: Server, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => resolve(true));
  });
}

/** The ports that the system chooses itself, so that any program may get one by chance. */
function ephemeralPorts(): readonly [from: number, to: number] {
  try {
    const text = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8");
    const [from = 0, to = 0] = text.trim().split(/\s+/).map(Number);
    return [from, to];
  } catch {
    // The default of Linux includes those of the other systems.
    return [32_768, 65_535];
  }
}

/** Below those, or above; among them if they leave no room. */
function firstOutside([from, to]: readonly [number, number]): number {
  const count = blocks * perBlock;
  if (from - count >= 10_000) return from - count;
  return to + count < 65_536 ? to + 1 : 20_000;
}
