import { createServer } from "callwire";

export default () => {
  const server = createServer(
    { add: async (a, b) => a + b, echo: async (message) => message },
    { limits: { maxBatch: 1000 } },
  );
  return (text) => server.receive(text);
};
