/** The server that every WebSocket client calls; it answers the messages of a chunk with one write. */
import { createServer } from "node:http";
import { WebSocketServer } from "ws";
import { answerText } from "./candidates/dispatch.mjs";
import { listening } from "./candidates/listening.mjs";
import { answering } from "./processes.mjs";

const server = createServer();
const sockets = new WebSocketServer({ server, perMessageDeflate: false });
sockets.on("connection", (ws, { socket }) => {
  let isCorked = false;
  const uncork = () => {
    isCorked = false;
    socket.uncork();
  };
  ws.on("message", (data) => {
    if (!isCorked) {
      isCorked = true;
      socket.cork();
      process.nextTick(uncork);
    }
    ws.send(answerText(data.toString()));
  });
});

answering({ start: async () => ({ port: await listening(server) }) });
