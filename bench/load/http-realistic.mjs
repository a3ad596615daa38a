/** Requests as real clients send them: their headers, spaces in the JSON, texts of different lengths. */
import { isDeepStrictEqual } from "node:util";
import { realistic } from "../realistic.mjs";
import { clientHeads } from "./client-heads.mjs";
import { keepAlive } from "./http-server.mjs";
import { byWrk, wrkLoad } from "./wrk.mjs";

export async function connect({ port, path = "/" }) {
  const { open, ready } = keepAlive(port);

  return {
    ready,

    async prepare(name) {
      const exchanges = realistic[name.replace(byWrk, "")];
      await ready();
      const [first] = open;
      const expected = [];
      for (const { text, reply } of exchanges) {
        const [head] = clientHeads;
        expected.push(await firstReply(first, requestBytes(head, port, path, text), reply));
      }
      if (name.endsWith(byWrk)) return wrkLoad(port, path, exchanges);
      // Each connection is one client.
      const requests = clientHeads.map((head) =>
        exchanges.map(({ text }) => requestBytes(head, port, path, text)),
      );
      return (ms) => exchange([...open], requests, expected, ms);
    },
  };
}

function requestBytes(head, port, path, text) {
  return Buffer.from(`${head(port, path, Buffer.byteLength(text))}\r\n\r\n${text}`);
}

function firstReply(connection, request, expected) {
  return new Promise((resolve, reject) => {
    connection.onLost = () => reject(new Error("the server closed the connection"));
    connection.onReply = ({ status, body }) => {
      connection.onLost = undefined;
      if (status === 200 && isDeepStrictEqual(JSON.parse(body), expected)) resolve(body);
      else reject(new Error(`wrong reply: ${status} ${body.slice(0, 300)}`));
    };
    connection.socket.write(request);
  });
}

/** Keeps every connection busy for `ms`, and compares each reply; resolves to their number and durations. */
function exchange(open, requests, expected, ms) {
  return new Promise((resolve, reject) => {
    const times = [];
    let busy = open.length;
    let over = false;
    setTimeout(() => {
      over = true;
    }, ms);
    const fail = (message) => {
      over = true;
      reject(new Error(message));
    };
    for (const [index, connection] of open.entries()) {
      const own = requests[index % requests.length];
      let next = index % own.length;
      let sentAt = 0;
      const send = () => {
        sentAt = performance.now();
        connection.socket.write(own[next]);
      };
      connection.onLost = () => fail("the server closed a connection in mid-call");
      connection.onReply = ({ status, body }) => {
        if (status !== 200 || body !== expected[next])
          return fail(`wrong reply: ${status} ${body.slice(0, 300)}`);
        times.push(performance.now() - sentAt);
        next = (next + 1) % own.length;
        if (!over) return send();
        connection.onLost = undefined;
        busy--;
        if (busy === 0) resolve({ calls: times.length, ...percentiles(times) });
      };
      send();
    }
  });
}

function percentiles(times) {
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
  return { p50Ms: at(0.5), p99Ms: at(0.99), p999Ms: at(0.999) };
}
