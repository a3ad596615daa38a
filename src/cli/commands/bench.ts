import { Load } from "../bench/load.ts";
import { perSecond, reportOf, shownMs, shownRate, showReport } from "../bench/report.ts";
import { explainedFailure } from "../call-failure.ts";
import { command } from "../command.ts";
import { targetFrom } from "../command-arguments.ts";
import { Failure, masked } from "../failure.ts";
import { isHttpUrl, linkFromUrl } from "../link-from-url.ts";
import { bar, LiveLine } from "../live-line.ts";
import { aboutParams, paramsFrom } from "../params.ts";
import { stopCode, stopSignal } from "../process-end.ts";
import { countOf, linkOptionsOf, serverOptions, timeoutOf } from "../server-options.ts";
import { Terminal } from "../terminal.ts";

export const bench = command({
  usage: "<url> <method> [params] [options]",
  about: aboutParams,
  options: {
    connections: {
      type: "string",
      short: "c",
      value: "n",
      description: "connections (default 10)",
    },
    inflight: {
      type: "string",
      short: "i",
      value: "n",
      description: "calls open at a time on each; over HTTP each takes a connection (default 1)",
    },
    duration: {
      type: "string",
      short: "d",
      value: "time",
      description: "such as 10s, 500ms or 2m (default 10s)",
    },
    requests: { type: "string", short: "n", value: "n", description: "end after so many calls" },
    rate: {
      type: "string",
      short: "r",
      value: "n",
      description: "calls per second; latency then counts from when a call was due",
    },
    ...serverOptions,
    json: { type: "boolean", description: "the result as JSON" },
  },
  examples: [
    [
      "callwire bench http://localhost:8000/rpc math/add a=2 b=3 --duration 3s",
      "as fast as it goes",
    ],
    ["callwire bench ws://localhost:8000/rpc/ws add 2 3 -c 4 -i 16 -d 3s", "64 calls at a time"],
    ["callwire bench http://localhost:8000/rpc add 2 3 --rate 500 -d 3s", "500 calls each second"],
    ["callwire bench http://localhost:8000/rpc add 2 3 -n 1000 --json", "for scripts"],
  ],
  async run(flags, positionals) {
    const { url, method, words } = targetFrom("bench", positionals);
    const params = await paramsFrom(words);
    const connections = countOf("--connections", flags.connections, 10);
    const inflight = countOf("--inflight", flags.inflight, 1);
    const durationMs =
      flags.duration === undefined && flags.requests !== undefined
        ? Number.POSITIVE_INFINITY
        : durationOf(flags.duration);
    const options = {
      method,
      params,
      inflight,
      timeoutMs: timeoutOf(flags.timeout),
      durationMs,
      requests: countOf("--requests", flags.requests, Number.POSITIVE_INFINITY),
      rate: flags.rate === undefined ? undefined : rateOf(flags.rate),
    };
    // A connection of HTTP carries one call at a time, so each call in flight gets its own.
    const own = { ...linkOptionsOf(flags), ...(isHttpUrl(url) ? { connections: inflight } : {}) };
    const links = await Promise.all(
      Array.from({ length: connections }, () => linkFromUrl(url, own)),
    );
    const load = new Load(links, options);
    const signal = stopSignal();
    try {
      signal.addEventListener("abort", () => void load.stop());
      await load.open();
      if (!signal.aborted) await watched(load, options);
    } catch (error) {
      if (signal.aborted)
        throw new Failure("stopped before it began", { cause: error, exitCode: stopCode() });
      throw await explainedFailure({ url, headers: own.headers }, error);
    } finally {
      await load.close();
    }
    const terminal = new Terminal(process.stdout);
    if (flags.json) terminal.line(JSON.stringify(reportOf(load)));
    else {
      const each = inflight === 1 ? "1 call" : `${inflight} calls`;
      const many = connections === 1 ? "1 connection" : `${connections} connections`;
      const way =
        options.rate === undefined ? "" : `, ${shownRate(options.rate)} calls due per second`;
      terminal.line(`${terminal.cyan(method)} at ${masked(url)}`);
      terminal.line(terminal.dim(`${many}, ${each} in flight on each${way}`));
      if (signal.aborted) terminal.line(terminal.yellow("stopped early"));
      terminal.line();
      showReport(load, terminal);
    }
    if (signal.aborted) process.exitCode = stopCode();
    else if (load.failed > 0) process.exitCode = 1;
  },
});

/** Runs the load with a line that tells how it goes. */
async function watched(
  load: Load,
  options: { durationMs: number; requests: number },
): Promise<void> {
  const line = new LiveLine(process.stderr, new Terminal(process.stderr));
  const timer = setInterval(() => {
    const { latencies, failed, elapsedMs } = load;
    const part = Math.max(
      elapsedMs / options.durationMs,
      (latencies.count + failed) / options.requests,
    );
    const p99 = shownMs(latencies.percentile(99));
    const rate = `${shownRate(perSecond(load))} calls/s`;
    line.show(
      `${bar(part, 20).padEnd(20, "░")} ${(elapsedMs / 1000).toFixed(1)} s  ${rate}  p99 ${p99}  ${failed} failed`,
    );
  }, 200);
  try {
    await load.run();
  } finally {
    clearInterval(timer);
    line.clear();
  }
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

function durationOf(text = "10s"): number {
  const [, number, unit = "s"] = /^(\d{1,6}(?:\.\d+)?)(ms|s|m)?$/.exec(text) ?? [];
  const ms = Number(number) * (units[unit] ?? Number.NaN);
  if (ms > 0) return ms;
  throw new Failure(`--duration is a time such as 10s, 500ms or 2m, not ${JSON.stringify(text)}`);
}

function rateOf(text: string): number {
  const rate = /^\d{1,7}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (rate > 0) return rate;
  throw new Failure(`--rate is a number of calls per second, not ${JSON.stringify(text)}`);
}
