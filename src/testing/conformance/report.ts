import type { ConformanceCase, ConformanceLevel } from "./case.ts";

export interface ExchangeRecord {
  /** What was sent and what came, shortened for people. */
  readonly sent: string;
  readonly got: string;
}

export interface ConformanceResult {
  readonly case: ConformanceCase;
  readonly outcome: "passed" | "failed" | "skipped";
  /** Why it failed or was passed over. */
  readonly reason?: string;
  /** The fixture that the server lacks, if the case was skipped for that. */
  readonly missingFixture?: string;
  /**
   * What kind of failure: a wrong answer, none while the server lives, a connection that the server
   * closed, or a server that is gone.
   */
  readonly fault?: "wrong" | "silent" | "hung-up" | "dead";
  /** What was sent until it was decided; the last is the one that failed. */
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
   * finished: all cases ran. stopped: the signal aborted. silent: the server answered nothing from the
   * start. dead: it was gone after a case. Cases that could not run are skipped.
   */
  readonly state: "finished" | "stopped" | "silent" | "dead";
  /** Why it did not finish, or what may be wrong with the address. */
  readonly hint?: string;
  /** Whether no MUST failed, and all of them could run. */
  readonly ok: boolean;
  readonly counts: Readonly<Record<ConformanceLevel, ConformanceCounts>>;
  readonly results: readonly ConformanceResult[];
  /** What was sent, probes included, and how many messages it could have been. */
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
