import { createClient, createServer, stream } from "callwire";
import { memoryPair } from "callwire/connection";

export default () => {
  const server = createServer({
    count: stream({}, async function* ({ to }) {
      for (let i = 0; i < to; i++) yield i;
    }),
  });
  const [link] = memoryPair(undefined, server);
  // A stream of millions of items takes longer than the default timeout of a call.
  const { api } = createClient(link, { timeoutMs: 3_600_000 });
  return (to) => api.count({ to });
};
