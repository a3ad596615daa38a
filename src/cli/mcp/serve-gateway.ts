import { createServer } from "callwire";
import { refuseExtra } from "../command-arguments.ts";
import { Failure } from "../failure.ts";
import { serveAgents, serveUntilStopped } from "../serving.ts";
import { counted } from "../terminal.ts";
import { gatewayFrom } from "./gateway-config.ts";

interface GatewayFlags {
  readonly config: string | undefined;
  readonly port: string | undefined;
  readonly host: string | undefined;
  readonly hosts: string | undefined;
}

/** Serves the servers of a config file as one, until it is stopped. */
export async function serveGateway(flags: GatewayFlags, rest: readonly string[]): Promise<void> {
  const { config, port, host, hosts } = flags;
  refuseExtra("mcp gateway", rest[0]);
  if (config === undefined) {
    throw new Failure('mcp gateway needs --config; see "callwire mcp --help"');
  }
  const unused = Object.entries({ host, hosts }).find(([, value]) => value !== undefined);
  if (port === undefined && unused !== undefined) {
    throw new Failure(`--${unused[0]} needs HTTP; add --port`);
  }
  const { agents, count } = await gatewayFrom(config);
  const forwardsTo = counted(count, "MCP server");
  if (port === undefined) {
    await serveAgents(agents, `forwards to ${forwardsTo}`);
    return;
  }
  const server = createServer({});
  const mount = { path: "/rpc", server, versions: "JSON-RPC 2.0", agents, forwardsTo };
  const wires = { tcp: undefined, unix: undefined, nats: undefined, stdio: undefined };
  const unset = { ...wires, origins: undefined, framing: undefined };
  await serveUntilStopped([mount], { ...unset, port, host, hosts });
}
