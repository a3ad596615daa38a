import { createServer, topic } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveSocket } from "callwire/tcp";
import { wsHandler, wsUpgrade } from "callwire/ws";
import { expect, test } from "vitest";

// What is no number stopped nothing, and a time to write that is none ended the process with the first long reply.
test.each([Number.NaN, 0, -1, "many"])(
  "%s is no limit, and is refused where it is given",
  async (value) => {
    const limit = value as number;
    const server = createServer({});
    const sentence = (name: string) => `the limit ${name} is a number of at least 1, not ${value}`;
    expect(() => createServer({}, { maxRunning: limit })).toThrow(sentence("maxRunning"));
    expect(() => topic({ maxQueue: limit })).toThrow(sentence("maxQueue"));
    expect(() => wsUpgrade(server, { maxConnections: limit })).toThrow(sentence("maxConnections"));
    expect(() => wsHandler(server, { maxConnections: limit })).toThrow(sentence("maxConnections"));
    // Of this one, 0 means that there is none, as in Node.
    const times = limit === 0 ? [] : ["writeTimeoutMs"];
    for (const name of ["maxConnections", ...times]) {
      const options = { port: 0, [name]: limit };
      await expect(serveHttp(server, options)).rejects.toThrow(sentence(name));
      await expect(serveSocket(server, options)).rejects.toThrow(sentence(name));
    }
  },
);
