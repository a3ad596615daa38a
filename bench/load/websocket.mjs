/** One WebSocket connection to a server on this machine, on a bare socket to be cheap. */
import { connect as connectSocket } from "node:net";
import { dialects } from "./dialect.mjs";
import { webSocket } from "./framing.mjs";
import { createWindow, inFlightOf } from "./window.mjs";

export async function connect({ port, path = "/", dialect = "json-rpc" }) {
  const socket = connectSocket(port, "127.0.0.1").setNoDelay(true);
  await upgrade(socket, port, path);
  const exchange = createWindow({
    input: socket,
    output: socket,
    framing: webSocket,
    dialect: dialects[dialect](),
  });
  return {
    async prepare(workload) {
      await exchange(inFlightOf(workload), 0);
      return (ms) => exchange(inFlightOf(workload), ms);
    },
  };
}

function upgrade(socket, port, path) {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("data", (chunk) => {
      const head = chunk.latin1Slice();
      // Nothing may follow the head, since no server here speaks first.
      if (head.startsWith("HTTP/1.1 101") && head.endsWith("\r\n\r\n")) resolve();
      else reject(new Error(`no WebSocket: ${head.slice(0, 200)}`));
    });
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: Y2FsbHdpcmUgYmVuY2ghIQ==\r\n\r\n",
    );
  });
}
