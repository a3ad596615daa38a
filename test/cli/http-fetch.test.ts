import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { httpFetch } from "../../src/cli/http-fetch.ts";

/** A server that answers every request with this status. */
async function answering(status: number): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.end(`HTTP/1.1 ${status} Odd\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  return `http://127.0.0.1:${port}/`;
}

test.each([600, 999])(
  "a server that answers with the status %i fails the request",
  async (status) => {
    await expect(httpFetch(await answering(status), {})).rejects.toMatchObject({
      code: "BAD_REPLY",
    });
  },
);

test.each([204, 205, 304])(
  "the status %i has no body, whatever the server sends",
  async (status) => {
    const response = await httpFetch(await answering(status), {});
    expect([response.status, await response.text()]).toEqual([status, ""]);
  },
);
