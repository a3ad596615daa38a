import { createSocket } from "node:dgram";
import { createServer } from "node:net";

/** The system hands out ports from 32768 on by itself, so below that nobody takes one by chance. */
const first = 20_000;
const count = 12_000;

let next = Math.floor(Math.random() * count);

/** A port that is free, and stays so for other tests until this process ends, also between two servers at it. */
export async function ownPort(): Promise<number> {
  for (;;) {
    const port = first + (next++ % count);
    if ((await isKept(port)) && (await isFree(port))) return port;
  }
}

/** Keeps a port from all who ask here, in other processes too: the same number of UDP, which nobody else uses, is taken. */
function isKept(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4")
      .on("error", () => socket.close(() => resolve(false)))
      .bind({ port, address: "127.0.0.1", exclusive: true }, () => resolve(true))
      .unref();
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .on("error", () => resolve(false))
      .listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
