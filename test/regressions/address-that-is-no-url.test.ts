import { once } from "node:events";
import { connect } from "node:net";
import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { expect, test } from "vitest";

// Parsing it as a URL threw an error that nothing caught, and the process ended.
test("a request for an invalid URL is answered, and the server continues", async () => {
  const http = await serveHttp(createServer({}), { port: 0 });
  const socket = connect(http.port, "127.0.0.1");
  socket.write("GET http://[/rpc/stream?method=ticks HTTP/1.1\r\nhost: localhost\r\n\r\n");
  const [chunk] = await once(socket, "data");
  expect(String(chunk)).toMatch(/^HTTP\/1\.1 4/);
  socket.destroy();
  await http.close();
});

test("a question mark inside of a query is part of it", async () => {
  const server = createServer({
    async *ask(question: string) {
      yield question;
    },
  });
  const http = await serveHttp(server, { port: 0 });
  const params = encodeURIComponent('["Why?"]').replace("%3F", "?");
  const response = await fetch(`${http.url}/stream?method=ask&params=${params}&id=1`);
  expect(await response.text()).toContain('"Why?"');
  await http.close();
});
