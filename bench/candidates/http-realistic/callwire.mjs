import { serveHttp } from "callwire/http/node";
import { realisticServer } from "./methods.mjs";

export default async () => {
  const { port } = await serveHttp(realisticServer(), { port: 0, host: "127.0.0.1" });
  return { port, path: "/rpc" };
};
