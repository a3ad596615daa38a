import { createClient, createServer, stream } from "callwire";
import { memoryPair } from "callwire/testing";

export default () => {
  const server = createServer({
    count: stream({}, async function* ([to]) {
      for (let i = 0; i < to; i++) yield i;
    }),
  });
  const { api } = createClient(memoryPair(server));
  return (count) => api.count(count);
};
