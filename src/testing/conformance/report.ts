import {
  type ConformanceCase,
  type ConformanceLevel,
  conformanceGroups,
  conformanceLevels,
} from "./case.ts";

export interface ExchangeRecord {
  /** What was sent and received, shortened for reports. */
  readonly sent: string;
  readonly got: string;
}

export interface ConformanceResult {
  readonly case: ConformanceCase;
  readonly outcome: "passed" | "failed" | "skipped";
  /** Why it failed or was skipped. */
  readonly reason?: string;
  /** The fixture that the server lacks, if the case was skipped for that. */
  readonly missingFixture?: string;
  /**
   * Kind of failure: a wrong answer, no answer from a server that still runs, a connection closed
   * by the server, or a server that no longer answers at all.
   */
  readonly fault?: "wrong" | "silent" | "hung-up" | "dead";
  /** The exchanges so far; if the case failed, the last one did. */
  readonly exchanges: readonly ExchangeRecord[];
  readonly durationMs: number;
}

export interface ConformanceCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface ConformanceReport {
  readonly wire: string;
  readonly address: string;
  /**
   * finished: all cases ran. stopped: the signal aborted. silent: the server never answered.
   * dead: it stopped answering during the run. Cases that could not run are skipped.
   */
  readonly state: "finished" | "stopped" | "silent" | "dead";
  /** Why the run did not finish, or what may be wrong with the address. */
  readonly hint?: string;
  /** Whether the run finished and no MUST failed. */
  readonly ok: boolean;
  readonly counts: Readonly<Record<ConformanceLevel, ConformanceCounts>>;
  readonly results: readonly ConformanceResult[];
  /** What was sent, including probes, and the announced upper bound. */
  readonly sent: {
    readonly messages: number;
    readonly bytes: number;
    readonly mostMessages: number;
  };
  readonly durationMs: number;
}

export function countsOf(
  results: readonly ConformanceResult[],
): Record<ConformanceLevel, ConformanceCounts> {
  const of = (level: ConformanceLevel): ConformanceCounts => {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    for (const { case: each, outcome } of results) if (each.level === level) counts[outcome]++;
    return counts;
  };
  return { MUST: of("MUST"), SHOULD: of("SHOULD"), hygiene: of("hygiene") };
}

/**
 * A report as JUnit XML for CI servers, with one suite per group.
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

/** An unfinished run counts as an error, even if no case failed. */
function unfinished({ state, hint = "the run was aborted" }: ConformanceReport): string[] {
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

/** A failed SHOULD or hygiene case must not fail a build, so it counts as skipped. */
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
      // Characters that XML does not allow.
      .replace(/(?![\n\r\t])\p{Cc}|[\ufffe\uffff]|\p{Surrogate}/gu, "\ufffd")
  );
}

/** The JSON from which shields.io draws a badge. */
export interface ConformanceBadge {
  readonly schemaVersion: 1;
  readonly label: string;
  readonly message: string;
  readonly color: string;
}

/**
 * A badge for a README, as shields.io reads it.
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
