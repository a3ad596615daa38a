import jayson from "jayson";
import { listening } from "../listening.mjs";

export default async () => {
  const server = new jayson.Server({
    add: ([a, b], done) => done(null, a + b),
    echo: ([message], done) => done(null, message),
  });
  return { port: await listening(server.http()) };
};
