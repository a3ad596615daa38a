import { createServer } from "node:net";

/** The system hands out ports from 32768 on by itself, so below that nobody takes one by chance. */
const first = 20_000;
const perWorker = 2_000;

const worker = Number(process.env["VITEST_POOL_ID"] ?? 1) - 1;
let next = Math.floor(Math.random() * perWorker);

/** A port that is free, and stays so until the test takes it, also between two servers at it. */
export async function ownPort(): Promise<number> {
  for (;;) {
    const port = first + worker * perWorker + (next++ % perWorker);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .on("error", () => resolve(false))
      .listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
