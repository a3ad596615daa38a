import { command } from "../start-up-program.mjs";

const params = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "bench", version: "1" },
};
const request = { jsonrpc: "2.0", id: 1, method: "initialize", params };

export default () =>
  command(["serve", "METHODS", "--mcp"], {
    input: `${JSON.stringify(request)}\n`,
    expected: '"serverInfo"',
  });
