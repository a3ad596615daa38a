import {
  type ConformanceFixtures,
  type ConformanceReport,
  type ConformanceSelection,
  type ConformanceWire,
  conformanceCases,
  conformanceGroups,
  conformanceLevels,
  demoFixtures,
} from "callwire/testing";
import { defineCommand, flag, option } from "../command.ts";
import { oneOf, onlyAddress, timeoutOf, timeoutOption } from "../command-arguments.ts";
import { showCases, showReport } from "../conform-report.ts";
import { Failure, invalid, oneLine } from "../failure.ts";
import { checkWritable, writeOutput } from "../files.ts";
import { authorizationRequired, firstCall, requiresAuthorization } from "../inspect/first-call.ts";
import { Prober } from "../inspect/prober.ts";
import { type LinkOptions, notAnAddress, refuseNats, splitWords } from "../link-from-url.ts";
import { bar, LiveLine } from "../live-line.ts";
import { stopCode, stopSignal } from "../process-end.ts";
import { rawWireFromUrl } from "../raw-wire.ts";
import { linkOptionsOf, serverOptions } from "../server-options.ts";
import { Terminal } from "../terminal.ts";

export const command = defineCommand({
  usage: "<url> [options]",
  options: {
    fixture: option("name=method", "method for add, echo or fail (default: same name)", {
      multiple: true,
    }),
    group: option("name", "run only this group, such as ids or batch", { multiple: true }),
    level: option("name", "run only this level: MUST, SHOULD or hygiene", {
      multiple: true,
      values: ["MUST", "SHOULD", "hygiene"],
    }),
    case: option("id", "run only this case", { multiple: true }),
    list: flag("list the cases without running them"),
    json: flag("print the report as JSON"),
    junit: option("file", "also write JUnit XML"),
    badge: option("file", "also write a badge for shields.io"),
    ...serverOptions,
    timeout: timeoutOption(2),
  },
  examples: [
    ["callwire conform http://localhost:8000/rpc", "every case, over HTTP"],
    [
      "callwire conform ws://localhost:8000/rpc/ws --fixture add=math/add --level MUST",
      "over WebSocket, with another method for add",
    ],
    ['callwire conform "stdio:callwire demo --stdio" --group batch --json', "for scripts"],
    ["callwire conform http://localhost:8000/rpc --junit conformance.xml", "for CI"],
  ],
  async run(flags, positionals) {
    const { conformanceBadge, junitReport, runConformance, selectCases } = await import(
      "callwire/testing"
    );
    const selection = selectionFrom(flags);
    const terminal = new Terminal(process.stdout);
    if (flags.list) {
      const cases = selectCases(selection);
      if (flags.json) return terminal.line(JSON.stringify(cases, null, 2));
      return showCases(cases, terminal);
    }
    const url = onlyAddress("conform", positionals);
    const fixtures = fixturesFrom(flags.fixture ?? []);
    const timeoutMs = timeoutOf(flags.timeout ?? "2s");
    const options = linkOptionsOf(flags);
    const wire = await conformWire(url, options);
    for (const file of [flags.junit, flags.badge]) {
      if (file !== undefined) await checkWritable(file);
    }
    const signal = stopSignal();
    await checkSpeaksJsonRpc(url, { ...options, timeoutMs, signal, add: fixtures.add });
    const line = new LiveLine();
    let failed = 0;
    let report: ConformanceReport;
    try {
      report = await runConformance(wire, {
        ...selection,
        fixtures,
        timeoutMs,
        signal,
        onResult({ case: { id, level }, outcome }, done, total) {
          if (outcome === "failed" && level === "MUST") failed++;
          const failures = failed === 0 ? "" : `  ${failed} MUST failed`;
          line.show(`${bar(done / total, 20).padEnd(20, "░")} ${done}/${total}${failures}  ${id}`);
        },
      });
    } catch (error) {
      throw new Failure(oneLine(error), { cause: error, exitCode: 3 });
    } finally {
      line.clear();
    }
    if (!flags.json) showReport(report, wire.abilities, terminal);
    if (flags.junit !== undefined) await writeOutput(flags.junit, junitReport(report));
    if (flags.badge !== undefined) {
      await writeOutput(flags.badge, `${JSON.stringify(conformanceBadge(report))}\n`);
    }
    if (flags.json) terminal.line(JSON.stringify(report, null, 2));
    process.exitCode = report.state === "stopped" ? stopCode() : report.ok ? 0 : 1;
  },
});

/** The run itself reports these. */
const reportedByRun: ReadonlySet<unknown> = new Set([
  "CANCELLED",
  "CONNECTION_FAILED",
  "CONNECTION_LOST",
  "TIMEOUT",
]);

/** Fails once, not once per case, if the server is not JSON-RPC or requires authorization. */
async function checkSpeaksJsonRpc(
  url: string,
  options: LinkOptions & {
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    readonly add: string | undefined;
  },
): Promise<void> {
  const { timeoutMs, signal, add = "add", headers = {} } = options;
  const wire = await rawWireFromUrl(url, { ...options, stderr: "ignore" });
  try {
    const prober = new Prober(wire, timeoutMs, signal);
    const second = { method: add, params: [2, 3] };
    const greeting = await firstCall(url, prober, { timeoutMs, headers, second });
    if (!requiresAuthorization(greeting)) return;
    // A server may require authorization only for unknown methods.
    const other = await prober.send(prober.request(second));
    if (other.failed !== undefined || requiresAuthorization(other)) {
      throw authorizationRequired(url, greeting.http?.status);
    }
  } catch (error) {
    if (!(error instanceof Failure && reportedByRun.has(error.report.code))) throw error;
  } finally {
    await wire.close();
  }
}

type SelectionFlags = Readonly<Record<"group" | "level" | "case", readonly string[] | undefined>>;

function selectionFrom(flags: SelectionFlags): ConformanceSelection {
  const ids = conformanceCases.map(({ id }) => id);
  return {
    groups: chosen("--group", flags.group, conformanceGroups),
    levels: chosen("--level", flags.level, conformanceLevels),
    cases:
      flags.case === undefined ? undefined : chosen("--case", flags.case, ids, "--list shows them"),
  };
}

/** Accepts repeated and comma-separated names, in any case. */
function chosen<Name extends string>(
  flag: string,
  given: readonly string[] | undefined,
  names: readonly Name[],
  known = `known are ${names.join(", ")}`,
): Name[] | undefined {
  return given
    ?.flatMap((each) => each.split(","))
    .map((text) => {
      const name = names.find((each) => each.toLowerCase() === text.trim().toLowerCase());
      if (name !== undefined) return name;
      throw new Failure(`unknown ${flag} ${JSON.stringify(text)}; ${known}`);
    });
}

function fixturesFrom(lines: readonly string[]): Partial<ConformanceFixtures> {
  const names = Object.keys(demoFixtures);
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", method = ""] = /^(\w+)=(.+)$/s.exec(line) ?? [];
      if (names.includes(name)) return [name, method];
      throw invalid("--fixture", `name=method, with the name ${oneOf(names)}`, line);
    }),
  );
}

const forms = "http://, https://, ws://, wss://, tcp://, tls://, unix:path or stdio:command";

async function conformWire(
  url: string,
  { headers, framing }: ReturnType<typeof linkOptionsOf>,
): Promise<ConformanceWire> {
  refuseNats(url);
  const wires = await import("callwire/testing/node");
  const [, scheme = "", rest = ""] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  try {
    switch (scheme) {
      case "http":
      case "https":
        return wires.httpConformanceWire(url, { headers });
      case "ws":
      case "wss":
        return wires.rawWebSocketConformanceWire(url, { headers });
      case "tcp":
      case "tls":
      case "unix":
        return wires.socketConformanceWire(url, { framing });
      case "stdio": {
        const [command, ...args] = splitWords(rest);
        if (command === undefined) break;
        return wires.stdioConformanceWire(command, args, { framing });
      }
    }
  } catch (error) {
    throw notAnAddress(url, `: ${oneLine(error)}`, error);
  }
  throw notAnAddress(url, `; addresses are ${forms}`);
}
