import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { records } from "../../records.mjs";

export default async () => {
  const server = createServer({ records: () => records });
  const { port } = await serveHttp(server, { port: 0, host: "127.0.0.1" });
  return { port, path: "/rpc" };
};
