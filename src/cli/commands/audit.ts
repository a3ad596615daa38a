import { createServer, type Methods, printable } from "callwire";
import { type Finding, findingsOfServer, missingGuards } from "../audit/server.ts";
import { findingsOfUrl } from "../audit/url.ts";
import { command } from "../command.ts";
import { Failure, masked } from "../failure.ts";
import { isServerUrl } from "../link-from-url.ts";
import { loadModule, type Offer } from "../load-module.ts";
import { unlessStopped } from "../process-end.ts";
import { timeoutOf } from "../server-options.ts";
import { Terminal } from "../terminal.ts";

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
    const offer = isServerUrl(source) ? undefined : await loadModule(source);
    const found =
      offer === undefined
        ? await unlessStopped(findingsOfUrl(source, timeoutMs))
        : findingsOfModule(offer);
    const findings = order.flatMap((severity) =>
      found.filter((finding) => finding.severity === severity),
    );
    const told = json ? `${JSON.stringify(findings, null, 2)}\n` : report(masked(source), findings);
    const terminal = new Terminal(process.stdout);
    terminal.write(told);
    if (offer?.kind === "methods" && !json) terminal.write(aboutMethods(offer.methods));
    // What is low is advice, and fails no build.
    if (findings.some(({ severity }) => severity !== "low")) process.exitCode = 1;
  },
});

function findingsOfModule(offer: Offer): Finding[] {
  switch (offer.kind) {
    case "server":
      return findingsOfServer(offer.server);
    case "methods":
      return findingsOfServer(createServer(offer.methods));
    case "agents":
      return missingGuards(offer.agents.use);
  }
}

const mostNames = 3;

/** A module whose functions start a server looks like one of methods. */
function aboutMethods(methods: Methods): string {
  const names = Object.keys(methods);
  const shown = names.slice(0, mostNames).map((name) => printable(name));
  if (names.length > mostNames) shown.push("…");
  return `It exports no server, so these were looked at as methods without guards: ${shown.join(", ")}\n`;
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
