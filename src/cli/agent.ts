import { basename, extname } from "node:path";
import type { Middleware } from "callwire";
import type { A2aAgent, AgentDescription, Execute } from "callwire/a2a";
import { Failure } from "./failure.ts";
import { importModule, isCallable, moduleVersion, type Offer } from "./load-module.ts";

/**
 * Makes the agent of a module that is one: it exports an agent, or a function `execute` or a default function, which does the
 * work. Undefined if it exports methods.
 */
export async function ownAgentOf(
  module: string,
): Promise<((use: readonly Middleware[]) => Promise<A2aAgent>) | undefined> {
  const { exported } = await importModule(module);
  const values = [exported.agent, exported.default, ...Object.values(exported)];
  const agent = values.find(isAgent);
  if (agent !== undefined)
    return async (use) => {
      if (use.length === 0) return agent;
      throw new Failure(`${module} exports an agent, which has its own guards; remove the options`);
    };
  if (exported.execute !== undefined && !isCallable(exported.execute))
    throw new Failure(
      `the export "execute" of ${module} must be a function that answers a message; write: export async function* execute(message) { … }`,
    );
  const execute = exported.execute ?? exported.default;
  if (typeof execute !== "function") return undefined;
  return async (use) => {
    const { a2aAgent } = await import("callwire/a2a");
    return a2aAgent({ card: cardOf(module), use, execute: execute as Execute });
  };
}

/** An agent whose skills are the methods of a module. */
export async function methodsAgentOf(
  module: string,
  offer: Offer,
  use: readonly Middleware[],
): Promise<A2aAgent> {
  const { a2aAgent } = await import("callwire/a2a");
  const card = cardOf(module);
  if (offer.kind === "agents")
    throw new Failure(`${module} exports a server for MCP; remove --a2a`);
  return offer.kind === "methods"
    ? a2aAgent.fromMethods(offer.methods, { card, use })
    : a2aAgent.fromMethods(offer.server, { card });
}

function cardOf(module: string): AgentDescription {
  const name = basename(module, extname(module));
  return { name, description: `Runs ${basename(module)}`, version: moduleVersion(module) };
}

/** Checks the shape, because the agent may come from another copy of the package. */
function isAgent(value: unknown): value is A2aAgent {
  return typeof value === "object" && value !== null && "eventForm" in value && "answerer" in value;
}
