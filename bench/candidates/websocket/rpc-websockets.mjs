import { Server } from "rpc-websockets";

export default async () => {
  const server = new Server({ port: 0, host: "127.0.0.1" });
  await new Promise((resolve) => server.once("listening", resolve));
  server.register("add", ([a, b]) => a + b);
  return { port: server.wss.address().port };
};
