import { createServer } from "callwire";
import type { Finding } from "../audit/finding.ts";
import { findingsOfServer, missingGuards } from "../audit/server.ts";
import { findingsOfUrl } from "../audit/url.ts";
import { command } from "../command.ts";
import { Failure } from "../failure.ts";
import { isServerUrl } from "../link-from-url.ts";
import { loadModule } from "../load-module.ts";
import { masked } from "../masked.ts";
import { printable } from "../printable.ts";
import { timeoutOf } from "../server-options.ts";
import { unlessStopped } from "../stop.ts";

const order = ["high", "medium", "low"] as const;

export const audit = command({
  usage: "<module | url> [options]",
  options: {
    json: { type: "boolean", description: "as JSON, for programs" },
    timeout: { type: "string", value: "ms", description: "wait so long (default 10000)" },
  },
  examples: [
    ["callwire audit ./server.ts", "the server or methods that a module exports"],
    ["callwire audit https://api.example/rpc", "a running server, as a stranger sees it"],
  ],
  async run({ json, timeout }, positionals) {
    const [source, extra] = positionals;
    if (source === undefined)
      throw new Failure('audit needs a module or an address; see "callwire audit --help"');
    if (extra !== undefined)
      throw new Failure(`audit takes one server, not ${JSON.stringify(extra)} too`);
    const timeoutMs = timeoutOf(timeout);
    const found = isServerUrl(source)
      ? await unlessStopped(findingsOfUrl(source, timeoutMs))
      : await findingsOfModule(source);
    const findings = order.flatMap((severity) =>
      found.filter((finding) => finding.severity === severity),
    );
    process.stdout.write(
      json ? `${JSON.stringify(findings, null, 2)}\n` : report(masked(source), findings),
    );
    // What is low is advice, and fails no build.
    if (findings.some(({ severity }) => severity !== "low")) process.exitCode = 1;
  },
});

async function findingsOfModule(path: string): Promise<Finding[]> {
  const offer = await loadModule(path);
  switch (offer.kind) {
    case "server":
      return findingsOfServer(offer.server);
    case "methods":
      return findingsOfServer(createServer(offer.methods));
    case "agents":
      return missingGuards(offer.agents.use);
  }
}

function report(source: string, findings: readonly Finding[]): string {
  if (findings.length === 0) return `${source}: nothing found that it lacks\n`;
  const lines = findings.flatMap(({ severity, what, fix }) => [
    `${severity.toUpperCase().padEnd(7)} ${printable(what)}`,
    `        fix: ${fix}`,
  ]);
  const count = findings.length === 1 ? "1 finding" : `${findings.length} findings`;
  return `${lines.join("\n")}\n${source}: ${count}\n`;
}
