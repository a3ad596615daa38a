import { WireError } from "../../protocol/errors.ts";
import type { ConformanceCase, Outgoing } from "./case.ts";
import { ExchangeTalk } from "./exchange-talk.ts";
import { judge, wantedOf } from "./judge.ts";
import { LineTalk } from "./line-talk.ts";
import {
  type ConformanceFixtures,
  demoFixtures,
  type FixtureName,
  fixturesOf,
  shortened,
  shown,
} from "./payload.ts";
import { type ConformanceSelection, lackingFor, planConformance } from "./plan.ts";
import {
  type ConformanceReport,
  type ConformanceResult,
  countsOf,
  type ExchangeRecord,
} from "./report.ts";
import { Meter, type Talk } from "./talk.ts";
import type { ConformanceWire, Heard } from "./wire.ts";
import { request } from "./writing.ts";

export interface ConformanceOptions extends ConformanceSelection {
  /** What the methods are called that some cases need. @default as the demo has them */
  readonly fixtures?: Partial<ConformanceFixtures> | undefined;
  /** How long an answer may take. @default 2000 */
  readonly timeoutMs?: number | undefined;
  /** Stops the run; it then resolves with what is known. */
  readonly signal?: AbortSignal | undefined;
  /** Told about each case when it is decided. */
  readonly onResult?:
    | ((result: ConformanceResult, done: number, total: number) => void)
    | undefined;
}

/** Large messages get more time. */
const slowFactor = 5;

/**
 * Runs the cases against a server, one after the other. Rejects when there is no server to be reached;
 * whatever a server does wrong is in the report.
 * @example
 * ```ts
 * import { runConformance } from "callwire/testing";
 * import { httpConformanceWire } from "callwire/testing/node";
 *
 * const wire = httpConformanceWire("http://127.0.0.1:8000/rpc");
 * const report = await runConformance(wire, { fixtures: { add: "math/add" } });
 * for (const { case: each, outcome, reason } of report.results) {
 *   if (outcome === "failed") console.log(each.level, each.id, reason);
 * }
 * ```
 */
export async function runConformance(
  wire: ConformanceWire,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  const { signal = new AbortController().signal } = options;
  const plan = planConformance(wire, options);
  const meter = new Meter(plan.mostMessages);
  const fixtures = { ...demoFixtures, ...withoutUndefined(options.fixtures) };
  const settings = { fixtures, signal, meter };
  const talk: Talk =
    wire.kind === "line" ? new LineTalk(wire, settings) : new ExchangeTalk(wire, settings);
  const run = new Run(wire, talk, fixtures, options.timeoutMs ?? 2_000);
  const began = performance.now();
  const results: ConformanceResult[] = [];
  const tell = (result: ConformanceResult): void => {
    results.push(result);
    options.onResult?.(result, results.length, plan.cases.length);
  };
  let state: ConformanceReport["state"] = "finished";
  try {
    if (!(await run.begin())) state = "silent";
    else if (!(await run.findFixtures(plan.fixtures))) state = "dead";
    for (const each of plan.cases) {
      signal.throwIfAborted();
      const result = await run.result(each);
      if (result.fault === "dead") state = "dead";
      tell(result);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    state = "stopped";
    for (const each of plan.cases.slice(results.length)) tell(skipped(each, "stopped before it"));
  } finally {
    talk.close();
  }
  const counts = countsOf(results);
  const hint = run.over ?? talk.hint;
  return {
    wire: wire.name,
    address: wire.address,
    state,
    ...(hint === undefined ? undefined : { hint }),
    ok: counts.MUST.failed === 0 && state === "finished",
    counts,
    results,
    sent: { messages: meter.messages, bytes: meter.bytes, mostMessages: plan.mostMessages },
    durationMs: Math.round(performance.now() - began),
  };
}

function withoutUndefined(given: Partial<ConformanceFixtures> = {}): Partial<ConformanceFixtures> {
  return Object.fromEntries(Object.entries(given).filter(([, name]) => name !== undefined));
}

function skipped(each: ConformanceCase, reason: string): ConformanceResult {
  return { case: each, outcome: "skipped", reason, exchanges: [], durationMs: 0 };
}

const trial: Readonly<Record<FixtureName, readonly unknown[]>> = {
  add: [5, 3],
  echo: ["conformance"],
  fail: ["conformance"],
};

const notFoundCode = /"code"\s*:\s*-32601\b/;

/** The server as it is met: whether it lives, and which methods it has. */
class Run {
  /** Why the rest of the cases cannot run. */
  over: string | undefined;
  readonly #wire: ConformanceWire;
  readonly #talk: Talk;
  readonly #fixtures: ConformanceFixtures;
  readonly #timeoutMs: number;
  readonly #missing = new Set<FixtureName>();

  constructor(wire: ConformanceWire, talk: Talk, fixtures: ConformanceFixtures, timeoutMs: number) {
    this.#wire = wire;
    this.#talk = talk;
    this.#fixtures = fixtures;
    this.#timeoutMs = timeoutMs;
  }

  /** Whether the server answers at all; rejects when there is no connection. */
  async begin(): Promise<boolean> {
    const lifeless = await this.#talk.lifeless(this.#timeoutMs * slowFactor);
    if (lifeless === undefined) return true;
    const { connected, reason } = lifeless;
    if (!connected) {
      const { address } = this.#wire;
      throw new WireError("CONNECTION_FAILED", `no connection to ${address}: ${reason}`);
    }
    this.over = `The server does not answer: ${reason}`;
    return false;
  }

  /** Learns which methods the server has; false when it did not live through that. */
  async findFixtures(names: Iterable<FixtureName>): Promise<boolean> {
    for (const name of names) {
      this.#talk.startAfresh();
      const method = this.#fixtures[name];
      const text = request({ method, params: trial[name], id: 1 });
      const heard = await this.#talk.hear({ kind: "message", text }, 1, this.#timeoutMs);
      if (heard.messages.some((message) => notFoundCode.test(message))) this.#missing.add(name);
      if (heard.ended === undefined && !heard.timedOut) continue;
      const lifeless = await this.#talk.lifeless(this.#timeoutMs);
      if (lifeless === undefined) continue;
      this.over = `The server was gone after a call of ${JSON.stringify(method)}: ${lifeless.reason}`;
      return false;
    }
    return true;
  }

  async result(each: ConformanceCase): Promise<ConformanceResult> {
    const reason = lackingFor(each, this.#wire) ?? this.over ?? this.#lackingFixture(each);
    if (reason !== undefined) return skipped(each, reason);
    const began = performance.now();
    const exchanges: ExchangeRecord[] = [];
    this.#talk.startAfresh();
    for (const exchange of each.exchanges) {
      const { send, expect, slow } = exchange;
      const timeoutMs = this.#timeoutMs * (slow ? slowFactor : 1);
      const heard = await this.#talk.hear(send, wantedOf(expect), timeoutMs);
      exchanges.push({ sent: this.#shown(send), got: shownAnswer(heard) });
      const failure = await this.#failure(each, judge(exchange, heard), heard, timeoutMs);
      if (failure !== undefined) {
        const durationMs = performance.now() - began;
        return { case: each, outcome: "failed", ...failure, exchanges, durationMs };
      }
    }
    return { case: each, outcome: "passed", exchanges, durationMs: performance.now() - began };
  }

  /** Headers are left out of what is shown; they may hold secrets. */
  #shown(send: Outgoing): string {
    const { host = "{host}", path = "{path}" } =
      (this.#wire.kind === "exchange" ? this.#wire.places : undefined) ?? {};
    return shown(send, this.#fixtures)
      .replaceAll("{headers}", "")
      .replaceAll("{host}", host)
      .replaceAll("{path}", path);
  }

  #lackingFixture(each: ConformanceCase): string | undefined {
    const name = [...fixturesOf(each)].find((needed) => this.#missing.has(needed));
    return name === undefined
      ? undefined
      : `the server has no method ${JSON.stringify(this.#fixtures[name])} to stand for the fixture ${name}`;
  }

  async #failure(
    { id }: ConformanceCase,
    wrong: string | undefined,
    heard: Heard,
    timeoutMs: number,
  ): Promise<Pick<ConformanceResult, "fault" | "reason"> | undefined> {
    const { timedOut, ended, crashed, stuck } = heard;
    if (crashed) return { fault: "hung-up", reason: `the server ended: ${ended}` };
    if (timedOut || stuck || ended !== undefined) {
      const lifeless = await this.#talk.lifeless(timeoutMs);
      if (lifeless !== undefined) {
        this.over = `The server was gone after ${id}: ${lifeless.reason}`;
        return { fault: "dead", reason: `the server is gone since: ${lifeless.reason}` };
      }
    }
    if (wrong === undefined) return undefined;
    const fault = ended !== undefined ? "hung-up" : timedOut || stuck ? "silent" : "wrong";
    return { fault, reason: wrong };
  }
}

function shownAnswer({ messages, http, ended, timedOut, taken }: Heard): string {
  if (taken) return "(the handshake was taken)";
  const status = http === undefined ? [] : [`HTTP ${http.status}`];
  const end = ended === undefined ? [] : [`(${ended})`];
  const parts = [...status, ...messages.slice(0, 5).map(shortened), ...end];
  if (messages.length > 5) parts.push(`… (${messages.length} messages)`);
  if (parts.length > 0) return parts.join(" ");
  return timedOut ? "(silence)" : "(nothing)";
}
