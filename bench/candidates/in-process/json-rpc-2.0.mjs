import { JSONRPCServer } from "json-rpc-2.0";

export default () => {
  const server = new JSONRPCServer();
  server.addMethod("add", ([a, b]) => a + b);
  server.addMethod("echo", ([message]) => message);
  return async (text) => JSON.stringify(await server.receiveJSON(text));
};
