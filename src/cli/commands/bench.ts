import { Load } from "../bench/load.ts";
import { perSecond, reportOf, shownMs, shownRate, showReport } from "../bench/report.ts";
import { explainFailure } from "../call-failure.ts";
import { defineCommand, flag, option } from "../command.ts";
import { countOf, targetFrom, timeoutOf } from "../command-arguments.ts";
import { durationOf } from "../durations.ts";
import { invalid, masked } from "../failure.ts";
import { isHttpUrl, linkFromUrl } from "../link-from-url.ts";
import { bar, LiveLine } from "../live-line.ts";
import { aboutParams, paramsFrom } from "../params.ts";
import { stopCode, stopped, stopSignal } from "../process-end.ts";
import { linkOptionsOf, serverOptions } from "../server-options.ts";
import { counted, Terminal } from "../terminal.ts";

export const command = defineCommand({
  usage: "<url> <method> [params] [options]",
  about: aboutParams,
  options: {
    connections: option("n", "number of connections (default 10)", { short: "c" }),
    inflight: option("n", "concurrent calls per connection (default 1)", { short: "i" }),
    duration: option("time", "such as 10s, 500ms or 2m (default 10s)", { short: "d" }),
    requests: option("n", "stop after this many calls", { short: "n" }),
    rate: option("n", "calls to start per second", { short: "r" }),
    ...serverOptions,
    json: flag("print the result as JSON"),
  },
  examples: [
    [
      "callwire bench http://localhost:8000/rpc math/add a=2 b=3 --duration 3s",
      "as fast as possible",
    ],
    ["callwire bench ws://localhost:8000/rpc/ws add 2 3 -c 4 -i 16 -d 3s", "64 concurrent calls"],
    ["callwire bench http://localhost:8000/rpc add 2 3 --rate 500 -d 3s", "500 calls per second"],
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
        : durationOf("--duration", flags.duration ?? "10s");
    const options = {
      method,
      params,
      inflight,
      timeoutMs: timeoutOf(flags.timeout),
      durationMs,
      requests: countOf("--requests", flags.requests, Number.POSITIVE_INFINITY),
      rate: flags.rate === undefined ? undefined : rateOf(flags.rate),
    };
    // An HTTP connection carries one call at a time, so each concurrent call needs its own.
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
      if (signal.aborted) throw stopped("stopped before the load began", error);
      throw await explainFailure(
        { url, method, headers: own.headers, client: load.client, signal },
        error,
      );
    } finally {
      await load.close();
    }
    const terminal = new Terminal(process.stdout);
    if (flags.json) terminal.line(JSON.stringify(reportOf(load)));
    else {
      const { rate } = options;
      const pace = rate === undefined ? "" : `, ${shownRate(rate)} calls due per second`;
      terminal.line(`${terminal.cyan(method)} at ${masked(url)}`);
      terminal.line(
        terminal.dim(
          `${counted(connections, "connection")}, ${counted(inflight, "call")} in flight on each${pace}`,
        ),
      );
      if (signal.aborted) terminal.line(terminal.yellow("stopped early"));
      terminal.line();
      showReport(load, terminal);
    }
    if (signal.aborted) process.exitCode = stopCode();
    else if (load.failed > 0) process.exitCode = 1;
  },
});

async function watched(
  load: Load,
  options: { durationMs: number; requests: number },
): Promise<void> {
  const line = new LiveLine();
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

function rateOf(text: string): number {
  const rate = /^\d{1,7}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (rate > 0) return rate;
  throw invalid("--rate", "a number of calls per second", text);
}
