// Waits until it is this process's turn, before the program is loaded; scripts/conformance.mjs gives turns.
// A turn ends with the process.
import { once } from "node:events";
import { connect } from "node:net";

const { CONFORMANCE_TURNS: port, MCP_CONFORMANCE_SCENARIO: scenario = "" } = process.env;

if (port !== undefined) {
  const socket = connect(Number(port), "127.0.0.1");
  socket.write(`${scenario}\n`);
  await once(socket, "data");
  socket.unref();
}
