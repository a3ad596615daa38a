import { printable } from "callwire";
import {
  type ConformanceCase,
  type ConformanceReport,
  type ConformanceResult,
  type ConformanceWire,
  conformanceGroups,
  conformanceLevels,
} from "callwire/testing";
import type { Terminal } from "./terminal.ts";

export function showReport(
  report: ConformanceReport,
  abilities: ConformanceWire["abilities"],
  terminal: Terminal,
): void {
  const { wire, address, hint, results } = report;
  terminal.line(`${terminal.bold(address)} over ${wire}`);
  terminal.line();
  showTable(results, terminal);
  for (const result of results) if (result.outcome === "failed") showFailure(result, terminal);
  showSkipped(results, abilities, terminal);
  if (hint !== undefined) {
    terminal.line();
    terminal.line(terminal.yellow(hint));
  }
  terminal.line();
  terminal.line(summary(report, terminal));
}

const width = 10;

function showTable(results: readonly ConformanceResult[], terminal: Terminal): void {
  const head = ["", ...conformanceLevels].map((name) => name.padEnd(width)).join("");
  terminal.line(`  ${terminal.dim(head.trimEnd())}`);
  for (const group of conformanceGroups) {
    const own = results.filter(({ case: each }) => each.group === group);
    if (own.length === 0) continue;
    const cells = conformanceLevels.map((level) =>
      cell(
        own.filter(({ case: each }) => each.level === level),
        level === "MUST",
        terminal,
      ),
    );
    terminal.line(`  ${group.padEnd(width)}${cells.join("")}`.trimEnd());
  }
}

function cell(results: readonly ConformanceResult[], matters: boolean, terminal: Terminal): string {
  const ran = results.filter(({ outcome }) => outcome !== "skipped").length;
  if (ran === 0) return terminal.dim((results.length === 0 ? "" : "skipped").padEnd(width));
  const passed = results.filter(({ outcome }) => outcome === "passed").length;
  const text = `${passed}/${ran}`.padEnd(width);
  if (passed === ran) return terminal.green(text);
  return matters ? terminal.red(text) : terminal.yellow(text);
}

function showFailure(result: ConformanceResult, terminal: Terminal): void {
  const { id, level, title, says, section } = result.case;
  const { sent = "", got = "" } = result.exchanges.at(-1) ?? {};
  const mark = level === "MUST" ? terminal.red("FAIL") : terminal.yellow("fail");
  terminal.line();
  terminal.line(`${mark} ${level} ${terminal.bold(id)}  ${title}`);
  terminal.line(`  ${terminal.dim("why ")} ${printable(result.reason ?? "")}`);
  terminal.line(`  ${terminal.dim("sent")} ${sent}`);
  terminal.line(`  ${terminal.dim("got ")} ${got}`);
  terminal.line(`  ${terminal.dim("spec")} ${says} ${terminal.dim(`(${section})`)}`);
}

function showSkipped(
  results: readonly ConformanceResult[],
  abilities: ConformanceWire["abilities"],
  terminal: Terminal,
): void {
  const reasons = new Map<string, number>();
  for (const { case: each, outcome, reason = "", missingFixture } of results) {
    if (outcome !== "skipped") continue;
    const hint =
      missingFixture === undefined ? "" : `; name yours with --fixture ${missingFixture}=<method>`;
    const isForOtherWires = each.needs?.some((ability) => !abilities.has(ability)) === true;
    const text = isForOtherWires ? "for other wires" : reason + hint;
    reasons.set(text, (reasons.get(text) ?? 0) + 1);
  }
  if (reasons.size === 0) return;
  terminal.line();
  terminal.line("Skipped:");
  for (const [reason, count] of reasons) {
    terminal.line(terminal.dim(`  ${String(count).padStart(3)}  ${reason}`));
  }
}

function summary({ counts, ok, state, sent, durationMs }: ConformanceReport, terminal: Terminal) {
  const parts = conformanceLevels.flatMap((level) => {
    const { passed, failed } = counts[level];
    return passed + failed === 0 ? [] : [`${passed} of ${passed + failed} ${level}`];
  });
  const effort = `${sent.messages} of at most ${sent.mostMessages} messages, ${size(sent.bytes)}, ${(durationMs / 1000).toFixed(1)} s`;
  const sum = `${parts.join(", ") || "no case ran"} ${terminal.dim(`(${effort})`)}`;
  if (ok) return `${terminal.green("Conforms:")} ${sum}`;
  if (state === "stopped") return `${terminal.yellow("Stopped:")} ${sum}`;
  return `${terminal.red("Does not conform:")} ${sum}`;
}

function size(bytes: number): string {
  return bytes < 1_000_000
    ? `${Math.ceil(bytes / 1000)} kB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function showCases(cases: readonly ConformanceCase[], terminal: Terminal): void {
  const longest = Math.max(0, ...cases.map(({ id }) => id.length));
  for (const { id, level, title } of cases) {
    terminal.line(`${terminal.cyan(id.padEnd(longest))}  ${level.padEnd(7)}  ${title}`);
  }
}
