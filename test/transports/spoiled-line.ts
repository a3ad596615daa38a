import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/**
 * A line to a port, on which one bit of everything that the server sends is flipped from some
 * moment on.
 */
export interface SpoiledLine {
  readonly port: number;
  spoil(): void;
}

export async function spoiledLine(to: number): Promise<SpoiledLine> {
  let spoils = false;
  const sockets = new Set<Socket>();
  const line = createServer((client) => {
    const server = connect(to, "127.0.0.1");
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
    client.pipe(server);
    server.on("data", (chunk: Buffer) => {
      const last = chunk.length - 1;
      if (spoils) chunk.writeUInt8(chunk.readUInt8(last) ^ 1, last);
      client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => line.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    line.close();
  });
  const spoil = (): void => {
    spoils = true;
  };
  return { port: (line.address() as AddressInfo).port, spoil };
}
