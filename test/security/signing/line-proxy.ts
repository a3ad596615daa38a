import { connect, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";

export type Direction = "out" | "back";

/** An attacker in the middle, who sees each line and forwards anything. */
export async function lineProxy(
  port: number,
  change: (line: string, direction: Direction) => readonly string[],
): Promise<{ readonly port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(port, "127.0.0.1");
    const pump = (from: Socket, to: Socket, direction: Direction): void => {
      sockets.add(from);
      from.on("error", () => to.destroy()).on("close", () => to.destroy());
      const lines = createInterface(from).on("line", (line) => {
        for (const each of change(line, direction)) to.write(`${each}\n`);
      });
      // It emits the errors of its socket again.
      lines.on("error", () => {});
    };
    pump(client, target, "out");
    pump(target, client, "back");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
