import { JsonRpcServer } from "@metamask/json-rpc-engine/v2";

export default () => {
  const server = new JsonRpcServer({
    middleware: [
      ({ request: { method, params }, next }) => {
        switch (method) {
          case "add":
            return params[0] + params[1];
          case "echo":
            return params[0];
          default:
            return next();
        }
      },
    ],
  });
  const handle = (message) => server.handle(message);
  return async (text) => {
    const message = JSON.parse(text);
    const reply = Array.isArray(message) ? Promise.all(message.map(handle)) : handle(message);
    return JSON.stringify(await reply);
  };
};
