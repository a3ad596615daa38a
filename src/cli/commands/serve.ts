import { basename, extname } from "node:path";
import { createServer, type Host, type ServerOptions } from "callwire";
import type { McpServer } from "callwire/mcp";
import { command } from "../command.ts";
import { Failure, oneLine } from "../failure.ts";
import { loadModule, moduleVersion, type Offer } from "../load-module.ts";
import {
  countingOf,
  type Mount,
  metricsOption,
  playgroundOption,
  refuseWithoutHttp,
  wireOptions,
} from "../served-wires.ts";
import { serveAgents, serveUntilStopped } from "../serving.ts";

export const serve = command({
  usage: "<module> [options]",
  options: {
    ...wireOptions,
    path: { type: "string", value: "path", description: "path for HTTP (default /rpc)" },
    ...playgroundOption,
    legacy: { type: "boolean", description: "speak JSON-RPC 1.0 beside 2.0" },
    ...metricsOption,
    mcp: {
      type: "boolean",
      description: "offer the methods to agents: on stdio, or at /mcp too with --port",
    },
  },
  examples: [
    ["callwire serve ./methods.ts", "what the module exports: `methods`, a default, or functions"],
    ["callwire serve ./methods.js --port 3000 --path /api", "at another address"],
    ["callwire serve ./methods.ts --mcp", "as the MCP server that an agent starts"],
  ],
  async run(flags, positionals) {
    const [module, extra] = positionals;
    if (module === undefined)
      throw new Failure('serve needs a module; see "callwire serve --help"');
    if (extra !== undefined)
      throw new Failure(`serve takes one module, not ${JSON.stringify(extra)} too`);
    const { path = "/rpc", legacy = false } = flags;
    if (!/^\/[^\s?#]*$/.test(path))
      throw new Failure(`--path begins with "/", unlike ${JSON.stringify(path)}`);
    if (path === "/" && flags.playground === true)
      throw new Failure("the playground is at /, so --path must be another");
    if (/^\/(healthz|readyz)\/*$/.test(path))
      throw new Failure(`probes ask at ${path}, so --path must be another`);
    if (path === "/metrics" && flags.metrics === true)
      throw new Failure("metrics are at /metrics, so --path must be another");
    if (path === "/mcp" && flags.mcp === true)
      throw new Failure("agents are served at /mcp, so --path must be another");
    const offer = await loadModule(module);
    const agents = flags.mcp === true ? await agentsOf(offer, module) : undefined;
    if (agents !== undefined && (flags.port === undefined || offer.kind === "agents")) {
      if (flags.port !== undefined)
        throw new Failure(`${module} exports a server for agents only; leave --port out`);
      refuseOtherWires(flags, offer);
      await checkStdioGuard(agents, module);
      await serveAgents(agents);
      return;
    }
    refuseWithoutHttp(flags);
    const { use, pages } = countingOf(flags);
    const options: ServerOptions = {
      discover: { title: nameOf(module), version: moduleVersion(module) },
      ...(legacy ? { versions: ["1.0", "2.0"] } : undefined),
      ...(use.length === 0 ? undefined : { use }),
    };
    const mount = { path, ...offerOf(offer, module, options) };
    if (flags.stdio === true && mount.server.admit !== undefined)
      await checkStdioGuard(mount.server, module);
    await serveUntilStopped([agents === undefined ? mount : { ...mount, agents }], flags, {
      pages,
      playground: flags.playground === true,
    });
  },
});

/** With --mcp alone there is one wire, and nothing that is asked of another may be passed over. */
function refuseOtherWires(flags: Readonly<Record<string, unknown>>, { kind }: Offer): void {
  const [unused] = Object.keys(flags).filter((flag) => flag !== "mcp" && flag !== "stdio");
  if (unused === undefined) return;
  const advice = kind === "agents" ? "" : "; with --port it counts";
  throw new Failure(`--mcp serves on stdio only, where --${unused} means nothing${advice}`);
}

async function agentsOf(offer: Offer, module: string): Promise<McpServer> {
  if (offer.kind === "agents") return offer.agents;
  const { mcpServer } = await import("callwire/mcp");
  const info = { name: nameOf(module), version: moduleVersion(module) };
  try {
    return mcpServer(offer.kind === "server" ? offer.server : offer.methods, info);
  } catch (error) {
    throw new Failure(`${module} cannot be served: ${oneLine(error)}`, { cause: error });
  }
}

/** What a module is called, where nothing else says so. */
function nameOf(module: string): string {
  return basename(module, extname(module));
}

function offerOf(offer: Offer, module: string, options: ServerOptions): Omit<Mount, "path"> {
  if (offer.kind === "agents")
    throw new Failure(`${module} exports a server for agents; serve it with --mcp`);
  if (offer.kind === "server") {
    if (options.versions !== undefined) {
      throw new Failure(
        `--legacy is for methods; ${module} exports a server with versions of its own`,
      );
    }
    if (options.use !== undefined) {
      throw new Failure(
        `--metrics is for methods; ${module} exports a server with middleware of its own`,
      );
    }
    return { server: offer.server, speaks: "as the module says" };
  }
  const { methods } = offer;
  try {
    const speaks = options.versions === undefined ? "JSON-RPC 2.0" : "JSON-RPC 1.0 and 2.0";
    return { server: createServer(methods, options), speaks };
  } catch (error) {
    throw new Failure(`${module} cannot be served: ${oneLine(error)}`, { cause: error });
  }
}

const stdio = { kind: "stdio", headers: {}, remoteAddress: undefined } as const;

/** Fails where the guards of a server would turn away whoever starts it, who would hear of it in no log. */
export async function checkStdioGuard(server: Host, module: string): Promise<void> {
  const verdict = await server.admit?.(stdio);
  if (verdict === undefined || !("code" in verdict)) return;
  const { message, reason } = verdict as { message: string; reason?: string };
  const why = reason === undefined ? message : `${message} (${reason})`;
  throw new Failure(
    `${module} refuses whoever starts it: ${why}; trustedProcess() of callwire/security, among what authenticate takes, lets them in`,
    { exitCode: 1 },
  );
}
