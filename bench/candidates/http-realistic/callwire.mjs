import { serveHttp } from "callwire/http/node";
import { realisticServer } from "./methods.mjs";

/** Without compression, which the server by hand does not have either. */
const options = { port: 0, host: "127.0.0.1", compress: false };

export default async () => {
  const { port } = await serveHttp(realisticServer(), options);
  return { port, path: "/rpc" };
};
