import { basename, extname } from "node:path";
import { createServer, type Host, type Middleware, type ServerOptions } from "callwire";
import type { A2aAgent } from "callwire/a2a";
import type { NodeHandler } from "callwire/http/node";
import type { McpServer } from "callwire/mcp";
import { methodsAgentOf, ownAgentOf } from "../agent.ts";
import { defineCommand, flag, option } from "../command.ts";
import { onlyArgument } from "../command-arguments.ts";
import { Failure, invalid, oneLine } from "../failure.ts";
import { guardOptions, guardsOf, serverTlsOf } from "../guard-options.ts";
import { parsed } from "../json-values.ts";
import { loadModule, moduleVersion, type Offer } from "../load-module.ts";
import { type LogFormat, logFormatOf, logIn, logOption, warningsOf } from "../log-format.ts";
import {
  type Mount,
  metricsOf,
  metricsOption,
  playgroundOption,
  refuseWithoutHttp,
  wireOptions,
} from "../served-wires.ts";
import { serveAgents, serveUntilStopped } from "../serving.ts";
import { runWorkers, startsWorkers, workerOptions } from "../serving-workers.ts";
import { quoted } from "../shell-words.ts";

export const command = defineCommand({
  usage: "<module> [options]",
  options: {
    ...wireOptions,
    path: option("path", "path for HTTP (default /rpc)"),
    ...playgroundOption,
    legacy: flag("also accept JSON-RPC 1.0"),
    "legacy-errors": option("form", "errors in 1.0: object (default) or string", {
      values: ["object", "string"],
    }),
    ...metricsOption,
    ...logOption,
    ...workerOptions,
    ...guardOptions,
    mcp: flag("serve agents on stdio, or at /mcp with --port"),
    a2a: flag("also serve an A2A agent, at /a2a"),
  },
  examples: [
    ["callwire serve ./methods.ts", "the exported `methods`, default or functions"],
    ["callwire serve ./methods.js --port 3000 --path /api", "at another port and path"],
    ["callwire serve ./methods.ts --mcp", "as the MCP server that an agent starts"],
    ["callwire serve ./agent.ts --a2a", "a generator `execute` as an A2A agent"],
  ],
  async run(flags, positionals) {
    const module = onlyArgument("serve", "a module", positionals);
    const { path = "/rpc", legacy = false } = flags;
    checkPath(path, flags);
    const format = logFormatOf(flags.log);
    if (flags.mcp !== true && startsWorkers(flags)) {
      await runWorkers(flags, module, logIn(format), await metricsOf(flags));
      return;
    }
    const ownAgent = flags.a2a === true ? await ownAgentOf(module) : undefined;
    if (ownAgent !== undefined) {
      await serveOwnAgent(ownAgent, module, flags);
      return;
    }
    if (flags.a2a === true && path === "/a2a") throw reservedPath(path, "--a2a");
    const offer = await loadModule(module);
    const agents = flags.mcp === true ? await agentsOf(offer, module) : undefined;
    if (agents !== undefined && (flags.port === undefined || offer.kind === "agents")) {
      if (flags.port !== undefined)
        throw new Failure(
          `${module} exports a server for agents, which is on stdio only; remove --port`,
        );
      refuseOtherWires(flags, offer);
      await checkStdioGuard(agents, module);
      await serveAgents(agents);
      return;
    }
    refuseWithoutHttp(flags);
    const { use: counting, pages } = await metricsOf(flags);
    const guards = await guardsOf(flags);
    if (guards.length > 0 && offer.kind === "server")
      throw new Failure(`${module} exports a server, which has its own guards; remove the options`);
    const use = [...counting, ...guards];
    const tls = await serverTlsOf(flags);
    const legacyErrors = legacyErrorsOf(flags["legacy-errors"], legacy);
    const options: ServerOptions = {
      discover: { title: nameOf(module), version: moduleVersion(module) },
      log: warningsOf(logIn(format)),
      ...(legacy ? { versions: ["1.0", "2.0"], version1Errors: legacyErrors } : undefined),
      ...(use.length === 0 ? undefined : { use }),
    };
    const mount = { path, ...offerOf(offer, module, options, format) };
    if (flags.stdio === true && mount.server.admit !== undefined)
      await checkStdioGuard(mount.server, module);
    const skills =
      flags.a2a === true
        ? await agentMount(
            await methodsAgentOf(module, offer, use),
            "/a2a",
            ", a skill for each method",
          )
        : undefined;
    await serveUntilStopped(
      [
        agents === undefined ? mount : { ...mount, agents },
        ...(skills === undefined ? [] : [skills.mount]),
      ],
      flags,
      {
        pages: { ...pages, ...skills?.card },
        playground: flags.playground === true,
        ...(tls && { tls }),
      },
    );
  },
});

/** Serves a module that is an A2A agent and nothing else. */
async function serveOwnAgent(
  made: (use: readonly Middleware[]) => Promise<A2aAgent>,
  module: string,
  flags: Parameters<typeof guardsOf>[0] &
    Parameters<typeof metricsOf>[0] &
    Parameters<typeof serverTlsOf>[0] &
    Parameters<typeof serveUntilStopped>[1] & {
      readonly path?: string | undefined;
      readonly mcp?: boolean | undefined;
    },
): Promise<void> {
  if (flags.mcp === true)
    throw new Failure(`${module} exports an agent, which has no tools; remove --mcp`);
  const { use, pages } = await metricsOf(flags);
  const tls = await serverTlsOf(flags);
  const agent = await made([...use, ...(await guardsOf(flags))]);
  const { mount, card } = await agentMount(agent, flags.path ?? "/a2a");
  await serveUntilStopped([mount], flags, { pages: { ...pages, ...card }, ...(tls && { tls }) });
}

function isJson(text: string): boolean {
  return parsed(text) !== undefined;
}

/** An agent at a path, and its card where clients look for it. */
async function agentMount(
  agent: A2aAgent,
  path: string,
  note = "",
): Promise<{ readonly mount: Mount; readonly card: Readonly<Record<string, NodeHandler>> }> {
  const { a2aMounts } = await import("callwire/a2a/node");
  const { [path]: _, ...card } = a2aMounts(agent, { path });
  const { skills, supportedInterfaces } = await agent.card("");
  const takesData = skills.filter(({ inputModes }) => inputModes?.includes("application/json"));
  const example = takesData.flatMap(({ examples = [] }) => examples).find(isJson);
  const sample =
    takesData.length === 0
      ? "stream 'Hello'"
      : example === undefined
        ? "card"
        : `stream --data ${quoted(example)}`;
  const mount = {
    path,
    server: agent,
    versions: `A2A ${supportedInterfaces.map(({ protocolVersion }) => protocolVersion).join(" and ")}${note}`,
    isAgent: true,
    sample,
  };
  return { mount, card: card as Readonly<Record<string, NodeHandler>> };
}

function checkPath(
  path: string,
  { playground, metrics, mcp }: { readonly [flag: string]: unknown },
): void {
  if (!/^\/[^\s?#]*$/.test(path))
    throw new Failure(`--path must begin with "/", not ${JSON.stringify(path)}`);
  const reserved = [
    [path === "/" && playground === true, "the playground"],
    [/^\/(healthz|readyz)\/*$/.test(path), "health checks"],
    [path === "/metrics" && metrics === true, "--metrics"],
    [path === "/mcp" && mcp === true, "--mcp"],
  ] as const;
  const [, user] = reserved.find(([isReserved]) => isReserved) ?? [];
  if (user !== undefined) throw reservedPath(path, user);
}

function reservedPath(path: string, user: string): Failure {
  return new Failure(`--path ${path} is reserved for ${user}; choose another path`);
}

/** --mcp without --port serves stdio only; options of other wires must not be ignored silently. */
function refuseOtherWires(flags: Readonly<Record<string, unknown>>, { kind }: Offer): void {
  const [unused] = Object.keys(flags).filter((flag) => flag !== "mcp" && flag !== "stdio");
  if (unused === undefined) return;
  const advice = kind === "agents" ? "; remove it" : "; add --port, or remove it";
  throw new Failure(`--${unused} has no effect on stdio, the only wire of --mcp${advice}`);
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

function nameOf(module: string): string {
  return basename(module, extname(module));
}

function legacyErrorsOf(form = "object", legacy: boolean): "object" | "string" {
  if (form !== "object" && !legacy) throw new Failure("--legacy-errors needs --legacy");
  if (form === "object" || form === "string") return form;
  throw invalid("--legacy-errors", "object or string", form);
}

function offerOf(
  offer: Offer,
  module: string,
  options: ServerOptions,
  logFormat: LogFormat | undefined,
): Omit<Mount, "path"> {
  if (offer.kind === "agents")
    throw new Failure(`${module} exports a server for agents; add --mcp`);
  if (offer.kind === "server") {
    if (options.versions !== undefined)
      throw new Failure(`--legacy needs methods; ${module} exports a server`);
    if (options.use !== undefined)
      throw new Failure(`--metrics needs methods; ${module} exports a server`);
    if (logFormat !== undefined)
      throw new Failure(`--log needs methods; ${module} exports a server, which has its own log`);
    return { server: offer.server, versions: "as the module sets" };
  }
  const { methods } = offer;
  try {
    const versions = options.versions === undefined ? "JSON-RPC 2.0" : "JSON-RPC 1.0 and 2.0";
    return { server: createServer(methods, options), versions };
  } catch (error) {
    throw new Failure(`${module} cannot be served: ${oneLine(error)}`, { cause: error });
  }
}

const stdio = { kind: "stdio", headers: {}, remoteAddress: undefined } as const;

/** Fails if the server would reject the process that starts it, which would not see a log. */
export async function checkStdioGuard(server: Host, module: string): Promise<void> {
  const decision = await server.admit?.(stdio);
  if (decision === undefined || !("code" in decision)) return;
  const { message, reason } = decision as { message: string; reason?: string };
  const why = reason === undefined ? message : `${message} (${reason})`;
  throw new Failure(
    `${module} rejects the process that starts it: ${why}; add trustedProcess() from callwire/security to authenticate(…)`,
    { exitCode: 1 },
  );
}
