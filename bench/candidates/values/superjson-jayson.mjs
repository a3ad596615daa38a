import jayson from "jayson";
import Client from "jayson/lib/client/browser/index.js";
import superjson from "superjson";
import { dated } from "./dated.mjs";

export default () => {
  const server = new jayson.Server({
    add: (params, done) => {
      const [a, b] = superjson.deserialize(params);
      done(null, superjson.serialize(a + b));
    },
    dated: (_, done) => done(null, superjson.serialize(dated())),
  });
  const client = new Client(
    (text, done) => server.call(text, (error, reply) => done(null, JSON.stringify(error ?? reply))),
    {},
  );
  const call = (method, params) =>
    new Promise((resolve, reject) => {
      client.request(method, superjson.serialize(params), (failed, error, result) =>
        failed || error ? reject(failed ?? error) : resolve(superjson.deserialize(result)),
      );
    });
  return {
    keepsDates: true,
    add: () => call("add", [1, 2]),
    "100 dates": () => call("dated", []),
  };
};
