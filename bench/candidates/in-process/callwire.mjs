import { createServer } from "callwire";

export default () => {
  const server = createServer(
    { add: (a, b) => a + b, echo: (message) => message },
    { limits: { maxBatch: 1000 } },
  );
  return (text) => server.receive(text);
};
