/** The server that every HTTP client calls: HTTP by hand on bare sockets, so that it is never the slow side. */
import { createServer } from "node:net";
import { answerText } from "./candidates/dispatch.mjs";
import { listening } from "./candidates/listening.mjs";
import { answering } from "./processes.mjs";

const server = createServer((socket) => {
  let unread = "";
  socket.setNoDelay(true);
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    unread += chunk.latin1Slice();
    let replies = "";
    for (;;) {
      const request = parseRequest(unread);
      if (request === undefined) break;
      unread = unread.slice(request.length);
      const reply =
        request.path === "/trpc/add" ? answerTrpc(request.body) : answerText(request.body);
      replies += `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${reply.length}\r\n\r\n${reply}`;
    }
    if (replies !== "") socket.write(replies, "latin1");
  });
});

function parseRequest(text) {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const head = text.slice(0, headEnd);
  const contentLength = Number(/\r\ncontent-length: ?(\d+)/i.exec(head)?.[1]);
  if (Number.isNaN(contentLength)) throw new Error(`a request without a length: ${head}`);
  const length = headEnd + 4 + contentLength;
  if (text.length < length) return undefined;
  const [, path] = head.slice(0, head.indexOf("\r\n")).split(" ");
  return { path, body: text.slice(headEnd + 4, length), length };
}

function answerTrpc(body) {
  const [a, b] = JSON.parse(body);
  return `{"result":{"data":${a + b}}}`;
}

answering({ start: async () => ({ port: await listening(server) }) });
