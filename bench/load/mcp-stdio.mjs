/** The standard input and output of the candidate's own process, after a handshake. */
import { dialects } from "./dialect.mjs";
import { newline } from "./framing.mjs";
import { createWindow, inFlightOf } from "./window.mjs";

const handshake = [
  {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "bench", version: "1" },
    },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
];

export async function connect(_, child) {
  child.stdin.write(handshake.map((message) => `${JSON.stringify(message)}\n`).join(""));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  const exchange = createWindow({
    input: child.stdout,
    output: child.stdin,
    framing: newline,
    dialect: dialects.mcp(),
  });
  return {
    async prepare(workload) {
      await exchange(inFlightOf(workload), 0);
      return (ms) => exchange(inFlightOf(workload), ms);
    },
  };
}
