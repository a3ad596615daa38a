import { readFileSync } from "node:fs";
import { createServer } from "node:net";

const perWorker = 1_000;
/** More than run at the same time; the ports of one that has a higher number are those of a lower one. */
const mostWorkers = 10;
const first = firstOutside(ephemeralPorts());

const worker = (Number(process.env["VITEST_POOL_ID"] ?? 1) - 1) % mostWorkers;
let next = Math.floor(Math.random() * perWorker);

/** A port that is free, and stays so until the test takes it, also between two servers at it. */
export async function ownPort(): Promise<number> {
  for (;;) {
    const port = first + worker * perWorker + (next++ % perWorker);
    if (await isFree(port)) return port;
  }
}

/** The ports that the system hands out by itself, so that any program may get one by chance. */
function ephemeralPorts(): readonly [number, number] {
  try {
    const [from = 0, to = 0] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8")
      .trim()
      .split(/\s+/)
      .map(Number);
    return [from, to];
  } catch {
    // What Linux has by default includes those of the other systems.
    return [32_768, 65_535];
  }
}

/** Below or above those; somewhere among them where they leave no room. */
function firstOutside([from, to]: readonly [number, number]): number {
  const count = mostWorkers * perWorker;
  const lowest = 10_000;
  if (from - count >= lowest) return Math.max(lowest, from - count - 2_000);
  return to + count < 65_536 ? to + 1 : 20_000;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .on("error", () => resolve(false))
      .listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
