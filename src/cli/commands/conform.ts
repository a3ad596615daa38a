import {
  type ConformanceFixtures,
  type ConformanceReport,
  type ConformanceSelection,
  conformanceCases,
  conformanceGroups,
  conformanceLevels,
  demoFixtures,
} from "callwire/testing";
import { command } from "../command.ts";
import { addressFrom } from "../command-arguments.ts";
import { conformWire } from "../conform/conformance-wire.ts";
import { showCases, showReport } from "../conform/report.ts";
import { Failure, oneLine } from "../failure.ts";
import { greeted, isLocked, lockedOut } from "../inspect/first-call.ts";
import { Prober } from "../inspect/prober.ts";
import type { LinkOptions } from "../link-from-url.ts";
import { bar, LiveLine } from "../live-line.ts";
import { mustBeWritable, writeOutput } from "../output-file.ts";
import { stopCode, stopSignal } from "../process-end.ts";
import { rawWireFromUrl } from "../raw-wire.ts";
import { linkOptionsOf, serverOptions, timeoutOf } from "../server-options.ts";
import { Terminal } from "../terminal.ts";

export const conform = command({
  usage: "<url> [options]",
  options: {
    fixture: {
      type: "string",
      value: "name=method",
      multiple: true,
      description: "what the server calls add, echo or fail (default: as the demo does)",
    },
    group: {
      type: "string",
      value: "name",
      multiple: true,
      description: "only these cases: core, ids, params, versions, batch, errors, …",
    },
    level: {
      type: "string",
      value: "name",
      multiple: true,
      description: "only these cases: MUST, SHOULD or hygiene",
    },
    case: { type: "string", value: "id", multiple: true, description: "only these cases" },
    list: { type: "boolean", description: "show the cases, and run none" },
    json: { type: "boolean", description: "the report as JSON" },
    junit: { type: "string", value: "file", description: "write JUnit XML too" },
    badge: { type: "string", value: "file", description: "write a badge for shields.io too" },
    ...serverOptions,
    timeout: {
      type: "string",
      value: "ms",
      description: "wait so long for an answer (default 2000)",
    },
  },
  examples: [
    ["callwire conform http://localhost:8000/rpc", "every case, over HTTP"],
    [
      "callwire conform ws://localhost:8000/rpc/ws --fixture add=math/add --level MUST",
      "over WebSocket, with a method of the server's own",
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
    const [url, [extra]] = addressFrom("conform", positionals);
    if (extra !== undefined)
      throw new Failure(`conform takes one address, not ${JSON.stringify(extra)} too`);
    const fixtures = fixturesFrom(flags.fixture ?? []);
    const timeoutMs = timeoutOf(flags.timeout ?? "2000");
    const options = linkOptionsOf(flags);
    const wire = await conformWire(url, options);
    for (const file of [flags.junit, flags.badge]) {
      if (file !== undefined) await mustBeWritable(file);
    }
    const signal = stopSignal();
    await mustSpeak(url, { ...options, timeoutMs, signal, add: fixtures.add });
    const line = new LiveLine(process.stderr, new Terminal(process.stderr));
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
          const told = failed === 0 ? "" : `  ${failed} MUST failed`;
          line.show(`${bar(done / total, 20).padEnd(20, "░")} ${done}/${total}${told}  ${id}`);
        },
      });
    } catch (error) {
      throw new Failure(oneLine(error), { cause: error, exitCode: 3 });
    } finally {
      line.clear();
    }
    if (!flags.json) showReport(report, terminal);
    if (flags.junit !== undefined) await writeOutput(flags.junit, junitReport(report));
    if (flags.badge !== undefined) {
      await writeOutput(flags.badge, `${JSON.stringify(conformanceBadge(report))}\n`);
    }
    if (flags.json) terminal.line(JSON.stringify(report, null, 2));
    process.exitCode = report.state === "stopped" ? stopCode() : report.ok ? 0 : 1;
  },
});

/** Of these the run itself has something to say. */
const toldByRun: ReadonlySet<unknown> = new Set([
  "CANCELLED",
  "CONNECTION_FAILED",
  "CONNECTION_LOST",
  "TIMEOUT",
]);

/** Where nobody speaks JSON-RPC, or nobody is let in, that is one failure and not one in each case. */
async function mustSpeak(
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
    const greeting = await greeted(url, prober, { timeoutMs, headers, second });
    if (!isLocked(greeting)) return;
    // It may be open to all where it has the method; one that closes the connection is not.
    const other = await prober.send(prober.request(second));
    if (other.failed !== undefined || isLocked(other)) {
      throw lockedOut(url, greeting.http?.status);
    }
  } catch (error) {
    if (!(error instanceof Failure && toldByRun.has(error.report.code))) throw error;
  } finally {
    await wire.close();
  }
}

interface SelectionFlags {
  readonly group?: readonly string[] | undefined;
  readonly level?: readonly string[] | undefined;
  readonly case?: readonly string[] | undefined;
}

export function selectionFrom(flags: SelectionFlags): ConformanceSelection {
  const ids = conformanceCases.map(({ id }) => id);
  return {
    groups: chosen("--group", flags.group, conformanceGroups),
    levels: chosen("--level", flags.level, conformanceLevels),
    cases:
      flags.case === undefined ? undefined : chosen("--case", flags.case, ids, "--list shows them"),
  };
}

/** `--group ids,batch` and `--group ids --group batch` say the same; so does `must` for `MUST`. */
function chosen<Name extends string>(
  flag: string,
  given: readonly string[] | undefined,
  names: readonly Name[],
  known = `it is ${names.join(", ")}`,
): Name[] | undefined {
  return given
    ?.flatMap((each) => each.split(","))
    .map((text) => {
      const name = names.find((each) => each.toLowerCase() === text.trim().toLowerCase());
      if (name !== undefined) return name;
      throw new Failure(`there is no ${flag} ${JSON.stringify(text)}; ${known}`);
    });
}

/** Reads `add=math/add`. */
export function fixturesFrom(lines: readonly string[]): Partial<ConformanceFixtures> {
  const names = Object.keys(demoFixtures);
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", method = ""] = /^(\w+)=(.+)$/s.exec(line) ?? [];
      if (names.includes(name)) return [name, method];
      throw new Failure(
        `--fixture is name=method with the name ${names.join(", ")}, not ${JSON.stringify(line)}`,
      );
    }),
  );
}
