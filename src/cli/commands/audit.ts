import { createServer, type Methods, printable } from "callwire";
import { type Finding, findingsOfServer, missingGuards } from "../audit/server.ts";
import { findingsOfUrl } from "../audit/url.ts";
import { defineCommand, flag } from "../command.ts";
import { onlyArgument, timeoutOf } from "../command-arguments.ts";
import { masked } from "../failure.ts";
import { isServerUrl } from "../link-from-url.ts";
import { loadModule, type Offer } from "../load-module.ts";
import { unlessStopped } from "../process-end.ts";
import { linkOptionsOf, serverOptions } from "../server-options.ts";
import { counted, Terminal } from "../terminal.ts";

const order = ["high", "medium", "low"] as const;

export const command = defineCommand({
  usage: "<module | url> [options]",
  options: {
    json: flag("print the findings as JSON"),
    ...serverOptions,
  },
  examples: [
    ["callwire audit ./server.ts", "the server or the methods that a module exports"],
    ["callwire audit https://api.example/rpc", "a running server, as an anonymous client"],
    ['callwire audit https://api.example/rpc --bearer "$TOKEN"', "and behind its authentication"],
  ],
  async run(flags, positionals) {
    const { json } = flags;
    const source = onlyArgument("audit", "a module or an address", positionals);
    const { headers, framing } = linkOptionsOf(flags);
    const options = { headers, framing, timeoutMs: timeoutOf(flags.timeout) };
    const offer = isServerUrl(source) ? undefined : await loadModule(source);
    const found =
      offer === undefined
        ? await unlessStopped(findingsOfUrl(source, options))
        : findingsOfModule(offer);
    const findings = order.flatMap((severity) =>
      found.filter((finding) => finding.severity === severity),
    );
    const terminal = new Terminal(process.stdout);
    terminal.write(
      json ? `${JSON.stringify(findings, null, 2)}\n` : report(masked(source), findings),
    );
    if (offer?.kind === "methods" && !json) terminal.write(aboutMethods(offer.methods));
    // A low finding is advice and must not fail a build.
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

/** A module whose functions start a server looks like a module of methods. */
function aboutMethods(methods: Methods): string {
  const names = Object.keys(methods);
  const shown = names.slice(0, mostNames).map((name) => printable(name));
  if (names.length > mostNames) shown.push("…");
  return `The module exports no server; audited its exports as unprotected methods: ${shown.join(", ")}\n`;
}

function report(source: string, findings: readonly Finding[]): string {
  if (findings.length === 0) return `${source}: no findings\n`;
  const lines = findings.flatMap(({ severity, what, fix }) => [
    `${severity.toUpperCase().padEnd(7)} ${printable(what)}`,
    `        fix: ${fix}`,
  ]);
  return `${lines.join("\n")}\n${source}: ${counted(findings.length, "finding")}\n`;
}
