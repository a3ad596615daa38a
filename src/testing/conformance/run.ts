import { WireError } from "../../protocol/errors.ts";
import type { ConformanceCase, Outgoing } from "./case.ts";
import { request } from "./case-builders.ts";
import type { ConformanceWire, Received } from "./conformance-wire.ts";
import { ConnectionSession } from "./connection-session.ts";
import { HttpSession } from "./http-session.ts";
import { judge, wantedOf } from "./judge.ts";
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
import { Meter, type Session } from "./session.ts";

export interface ConformanceOptions extends ConformanceSelection {
  /** Names of the methods that some cases call. @default `demoFixtures` */
  readonly fixtures?: Partial<ConformanceFixtures> | undefined;
  /** How long an answer may take, five times as long for large messages. @default 2000 */
  readonly timeoutMs?: number | undefined;
  /** Stops the run, which then resolves with the results so far. @default none */
  readonly signal?: AbortSignal | undefined;
  /** Called with the result of each case. @default none */
  readonly onResult?:
    | ((result: ConformanceResult, done: number, total: number) => void)
    | undefined;
}

/** Factor on the timeout for large messages. */
const slowFactor = 5;

/**
 * Runs the cases against a server, one after the other. Rejects if the server cannot be reached;
 * everything that the server does wrong is in the report.
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
  const session: Session =
    wire.kind === "line" ? new ConnectionSession(wire, settings) : new HttpSession(wire, settings);
  const run = new Run(wire, session, fixtures, options.timeoutMs ?? 2_000);
  const began = performance.now();
  const results: ConformanceResult[] = [];
  const publish = (result: ConformanceResult): void => {
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
      publish(result);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    state = "stopped";
    for (const each of plan.cases.slice(results.length))
      publish(skipped(each, "the run was stopped first"));
  } finally {
    session.close();
  }
  const counts = countsOf(results);
  const hint = run.over ?? session.hint;
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

/** What is known about the server: whether it answers, and which methods it has. */
class Run {
  /** Why the remaining cases cannot run. */
  over: string | undefined;
  readonly #wire: ConformanceWire;
  readonly #session: Session;
  readonly #fixtures: ConformanceFixtures;
  readonly #timeoutMs: number;
  readonly #missing = new Set<FixtureName>();

  constructor(
    wire: ConformanceWire,
    session: Session,
    fixtures: ConformanceFixtures,
    timeoutMs: number,
  ) {
    this.#wire = wire;
    this.#session = session;
    this.#fixtures = fixtures;
    this.#timeoutMs = timeoutMs;
  }

  /** Whether the server answers at all; rejects if it cannot be reached. */
  async begin(): Promise<boolean> {
    const unresponsive = await this.#session.checkAlive(this.#timeoutMs * slowFactor);
    if (unresponsive === undefined) return true;
    const { connected, reason } = unresponsive;
    if (!connected) {
      const { address } = this.#wire;
      throw new WireError("CONNECTION_FAILED", `no connection to ${address}: ${reason}`);
    }
    this.over = `The server does not answer: ${reason}`;
    return false;
  }

  /** Finds out which fixtures the server has; false if it stopped answering meanwhile. */
  async findFixtures(names: Iterable<FixtureName>): Promise<boolean> {
    for (const name of names) {
      this.#session.reset();
      const method = this.#fixtures[name];
      const text = request({ method, params: trial[name], id: 1 });
      const received = await this.#session.exchange({ kind: "message", text }, 1, this.#timeoutMs);
      if (received.messages.some((message) => notFoundCode.test(message))) this.#missing.add(name);
      if (received.ended === undefined && !received.timedOut) continue;
      const unresponsive = await this.#session.checkAlive(this.#timeoutMs);
      if (unresponsive === undefined) continue;
      this.over = `The server stopped answering after a call of ${JSON.stringify(method)}: ${unresponsive.reason}`;
      return false;
    }
    return true;
  }

  async result(each: ConformanceCase): Promise<ConformanceResult> {
    const reason = lackingFor(each, this.#wire) ?? this.over;
    if (reason !== undefined) return skipped(each, reason);
    const missingFixture = [...fixturesOf(each)].find((name) => this.#missing.has(name));
    if (missingFixture !== undefined) {
      const method = JSON.stringify(this.#fixtures[missingFixture]);
      const lacking = `the server has no method ${method} to stand for the fixture ${missingFixture}`;
      return { ...skipped(each, lacking), missingFixture };
    }
    const began = performance.now();
    const exchanges: ExchangeRecord[] = [];
    this.#session.reset();
    for (const exchange of each.exchanges) {
      const { send, expect, slow } = exchange;
      const timeoutMs = this.#timeoutMs * (slow ? slowFactor : 1);
      const received = await this.#session.exchange(send, wantedOf(expect), timeoutMs);
      exchanges.push({ sent: this.#shown(send), got: shownAnswer(received) });
      const failure = await this.#failure(each, judge(exchange, received), received, timeoutMs);
      if (failure !== undefined) {
        const durationMs = performance.now() - began;
        return { case: each, outcome: "failed", ...failure, exchanges, durationMs };
      }
    }
    return { case: each, outcome: "passed", exchanges, durationMs: performance.now() - began };
  }

  /** Leaves out the headers, which may hold secrets. */
  #shown(send: Outgoing): string {
    const { host = "{host}", path = "{path}" } =
      (this.#wire.kind === "exchange" ? this.#wire.places : undefined) ?? {};
    return shown(send, this.#fixtures)
      .replaceAll("{headers}", "")
      .replaceAll("{host}", host)
      .replaceAll("{path}", path);
  }

  async #failure(
    { id }: ConformanceCase,
    wrong: string | undefined,
    received: Received,
    timeoutMs: number,
  ): Promise<Pick<ConformanceResult, "fault" | "reason"> | undefined> {
    const { timedOut, ended, crashed, stuck } = received;
    if (crashed) return { fault: "hung-up", reason: `the server exited: ${ended}` };
    if (timedOut || stuck || ended !== undefined) {
      const unresponsive = await this.#session.checkAlive(timeoutMs);
      if (unresponsive !== undefined) {
        this.over = `The server stopped answering after ${id}: ${unresponsive.reason}`;
        return { fault: "dead", reason: `the server stopped answering: ${unresponsive.reason}` };
      }
    }
    if (wrong === undefined) return undefined;
    const fault = ended !== undefined ? "hung-up" : timedOut || stuck ? "silent" : "wrong";
    return { fault, reason: wrong };
  }
}

function shownAnswer({ messages, http, ended, timedOut, taken }: Received): string {
  if (taken) return "(handshake accepted)";
  const status = http === undefined ? [] : [`HTTP ${http.status}`];
  const end = ended === undefined ? [] : [`(${ended})`];
  const parts = [...status, ...messages.slice(0, 5).map(shortened), ...end];
  if (messages.length > 5) parts.push(`… (${messages.length} messages)`);
  if (parts.length > 0) return parts.join(" ");
  return timedOut ? "(no answer)" : "(nothing)";
}
