import { basename, extname } from "node:path";
import type { Middleware, Server } from "callwire";
import type { A2aAgent, Execute } from "callwire/a2a";
import { Failure } from "./failure.ts";
import { importModule, loadModule, moduleVersion } from "./load-module.ts";

/**
 * The agent of a module: one that it exports, one whose work is its function `execute` or its default export, or one whose
 * skills are its methods.
 */
export async function agentOf(module: string, use: readonly Middleware[]): Promise<A2aAgent> {
  const { a2aAgent } = await import("callwire/a2a");
  const { exported } = await importModule(module);
  const values = [exported.agent, exported.default, ...Object.values(exported)];
  const agent = values.find(isAgent);
  if (agent !== undefined) {
    if (use.length > 0)
      throw new Failure(`${module} exports an agent, which has its own guards; remove the options`);
    return agent;
  }
  const name = basename(module, extname(module));
  const card = { name, description: `Runs ${basename(module)}`, version: moduleVersion(module) };
  const execute = exported.execute ?? exported.default;
  if (typeof execute === "function") return a2aAgent({ card, use, execute: execute as Execute });
  const offer = await loadModule(module);
  if (offer.kind === "agents")
    throw new Failure(`${module} exports a server for MCP; remove --a2a`);
  if (offer.kind === "methods") return a2aAgent.fromMethods(offer.methods, { card, use });
  return a2aAgent.fromMethods(offer.server as Server, { card });
}

/** Checks the shape, because the agent may come from another copy of the package. */
function isAgent(value: unknown): value is A2aAgent {
  return typeof value === "object" && value !== null && "eventForm" in value && "answerer" in value;
}
