import { transports } from "@open-rpc/server-js";
import { createRouter } from "../open-rpc-router.mjs";

export default () => {
  const transport = new transports.ServerTransport();
  transport.addRouter(createRouter());
  const handle = (message) => transport.routerHandler(message);
  return async (text) => {
    const message = JSON.parse(text);
    const reply = Array.isArray(message) ? Promise.all(message.map(handle)) : handle(message);
    return JSON.stringify(await reply);
  };
};
