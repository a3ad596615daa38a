import { conformanceGroups, conformanceLevels } from "./case.ts";
import type { ConformanceReport, ConformanceResult } from "./report.ts";

/**
 * A report as JUnit XML, one suite for each group, as CI servers read it.
 * @example
 * ```ts
 * import { writeFile } from "node:fs/promises";
 * import { fetchConformanceWire, junitReport, runConformance } from "callwire/testing";
 *
 * const report = await runConformance(fetchConformanceWire("http://127.0.0.1:8000/rpc"));
 * await writeFile("conformance.xml", junitReport(report));
 * ```
 */
export function junitReport(report: ConformanceReport): string {
  const suites = conformanceGroups.flatMap((group) => {
    const results = report.results.filter(({ case: each }) => each.group === group);
    return results.length === 0 ? [] : [suite(group, results)];
  });
  const name = escaped(`${report.wire} ${report.address}`);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${name}" ${totals(report.results)} time="${seconds(report.durationMs)}">`,
    ...suites,
    ...unfinished(report),
    "</testsuites>",
    "",
  ].join("\n");
}

/** A run that was cut short fails, also where no case did. */
function unfinished({ state, hint = "the run was stopped" }: ConformanceReport): string[] {
  if (state === "finished") return [];
  const error = `<error message="${escaped(hint)}"/>`;
  return [
    '  <testsuite name="run" tests="1" failures="0" errors="1" skipped="0" time="0.000">',
    `    <testcase classname="run" name="the run ends (${state})" time="0.000">${error}</testcase>`,
    "  </testsuite>",
  ];
}

function suite(group: string, results: readonly ConformanceResult[]): string {
  const time = seconds(results.reduce((sum, { durationMs }) => sum + durationMs, 0));
  return [
    `  <testsuite name="${group}" ${totals(results)} time="${time}">`,
    ...results.map(testCase),
    "  </testsuite>",
  ].join("\n");
}

/** A SHOULD or a matter of hygiene that fails does not fail a build, so it counts as skipped. */
function fails({ outcome, case: { level } }: ConformanceResult): boolean {
  return outcome === "failed" && level === "MUST";
}

function totals(results: readonly ConformanceResult[]): string {
  const failures = results.filter(fails).length;
  const skipped = results.filter((each) => each.outcome !== "passed" && !fails(each)).length;
  return `tests="${results.length}" failures="${failures}" skipped="${skipped}"`;
}

function testCase(result: ConformanceResult): string {
  const { case: each, outcome, reason = "", durationMs } = result;
  const start = `    <testcase classname="${each.group}" name="${escaped(`${each.id} (${each.level}): ${each.title}`)}" time="${seconds(durationMs)}"`;
  if (outcome === "passed") return `${start}/>`;
  const message = escaped(reason);
  const inner = fails(result)
    ? `<failure message="${message}">${escaped(explained(result))}</failure>`
    : `<skipped message="${outcome === "failed" ? `${each.level}: ` : ""}${message}"/>`;
  return `${start}>${inner}</testcase>`;
}

function explained({ case: { says, section }, exchanges }: ConformanceResult): string {
  const { sent = "", got = "" } = exchanges.at(-1) ?? {};
  return `sent: ${sent}\ngot: ${got}\nspecification: ${says} (${section})`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function escaped(text: string): string {
  return (
    text
      .replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
      // What XML cannot hold.
      .replace(/(?![\n\r\t])\p{Cc}|[\ufffe\uffff]|\p{Surrogate}/gu, "\ufffd")
  );
}

/** What shields.io reads from an endpoint to draw a badge. */
export interface ConformanceBadge {
  readonly schemaVersion: 1;
  readonly label: string;
  readonly message: string;
  readonly color: string;
}

/**
 * Sums up a report as the JSON of a shields.io badge: how many MUSTs the server keeps.
 * @example
 * ```ts
 * import { writeFile } from "node:fs/promises";
 * import { conformanceBadge, fetchConformanceWire, runConformance } from "callwire/testing";
 *
 * const report = await runConformance(fetchConformanceWire("http://127.0.0.1:8000/rpc"));
 * await writeFile("badge.json", JSON.stringify(conformanceBadge(report)));
 * ```
 */
export function conformanceBadge(report: ConformanceReport): ConformanceBadge {
  const { MUST } = report.counts;
  const failed = conformanceLevels.some((level) => report.counts[level].failed > 0);
  const color = !report.ok ? "red" : failed ? "yellowgreen" : "brightgreen";
  const message = `${MUST.passed} of ${MUST.passed + MUST.failed} MUST`;
  return { schemaVersion: 1, label: "JSON-RPC 2.0", message, color };
}
