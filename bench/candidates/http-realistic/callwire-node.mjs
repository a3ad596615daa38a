import { serveHttp } from "callwire/http/node";
import { realisticServer } from "./methods.mjs";

export default async () => {
  const options = { port: 0, host: "127.0.0.1", fastPath: false, compress: false };
  const { port } = await serveHttp(realisticServer(), options);
  return { port, path: "/rpc" };
};
