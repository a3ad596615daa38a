import { transports } from "@open-rpc/server-js";
import { createRouter } from "../open-rpc-router.mjs";

export default async () => {
  const transport = new transports.HTTPTransport({ port: 0, middleware: [] });
  transport.addRouter(createRouter());
  await transport.start();
  return { port: transport.server.address().port };
};
