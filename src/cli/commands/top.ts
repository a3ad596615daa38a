import { setTimeout as wait } from "node:timers/promises";
import { tlsOptions } from "../client-tls.ts";
import { defineCommand, flag, option } from "../command.ts";
import { onlyArgument, timeoutOf, timeoutOption } from "../command-arguments.ts";
import { durationOf } from "../durations.ts";
import { Failure, invalid, oneLine } from "../failure.ts";
import { bodyOf, httpFetch } from "../http-fetch.ts";
import { notAnAddress } from "../link-from-url.ts";
import { stopped, stopSignal } from "../process-end.ts";
import { linkOptionsOf, serverOptions } from "../server-options.ts";
import { Terminal } from "../terminal.ts";
import {
  type MethodRow,
  type Quantile,
  readScrape,
  rowsBetween,
  type Scrape,
} from "../top/scrape.ts";
import { tableOf } from "../top/table.ts";
import { wrongAddress } from "../wrong-address.ts";

export const command = defineCommand({
  usage: "<url> [options]",
  options: {
    interval: option("time", "time between updates, such as 500ms (default 1s)"),
    header: serverOptions.header,
    bearer: serverOptions.bearer,
    ...tlsOptions,
    timeout: timeoutOption(10),
    once: flag("print totals since the server started, then exit"),
    json: flag("print one line of JSON per update"),
  },
  examples: [
    ["callwire top http://localhost:8000", "reads /metrics until Ctrl-C"],
    ["callwire top http://localhost:8000 --once --json", "for scripts"],
  ],
  async run(flags, positionals) {
    const url = metricsUrl(onlyArgument("top", "an address", positionals));
    const { headers } = linkOptionsOf(flags);
    const timeoutMs = timeoutOf(flags.timeout);
    const intervalMs = durationOf("--interval", flags.interval ?? "1s");
    if (intervalMs < 100 || intervalMs > 3_600_000) {
      throw invalid("--interval", "between 100ms and 60m", flags.interval);
    }
    if (flags.once === true) {
      const now = await scrape(url, headers, timeoutMs, stopSignal());
      show(url, undefined, now, flags.json === true, false);
      return;
    }
    const signal = stopSignal();
    const live = process.stdout.isTTY && flags.json !== true;
    if (live) process.stdout.write("\u001b[?25l");
    let updates = 0;
    try {
      for (let before = await scrape(url, headers, timeoutMs, signal); ; updates++) {
        await wait(intervalMs, undefined, { signal });
        const now = await scrape(url, headers, timeoutMs, signal);
        show(url, before, now, flags.json === true, live);
        before = now;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      if (updates === 0) throw stopped("stopped before the first update", error);
    } finally {
      if (live) process.stdout.write("\u001b[?25h");
    }
  },
});

function show(
  url: URL,
  before: Scrape | undefined,
  now: Scrape,
  asJson: boolean,
  live: boolean,
): void {
  const rows = rowsBetween(before, now);
  const terminal = new Terminal(process.stdout);
  if (asJson) {
    const totals = Object.fromEntries(now.totals);
    terminal.line(JSON.stringify({ methods: rows.map(rowForScripts), totals }));
    return;
  }
  const room = live
    ? { methods: Math.max(1, (process.stdout.rows || 24) - 6), width: terminal.width }
    : { methods: Number.POSITIVE_INFINITY, width: Number.POSITIVE_INFINITY };
  const lines = tableOf(url.origin, now, rows, terminal, room).map((line) => terminal.safe(line));
  // Overwrite line by line; clearing the whole screen would flicker.
  const text = live
    ? `\u001b[H${lines.join("\u001b[K\n")}\u001b[K\n\u001b[J`
    : `${lines.join("\n")}\n`;
  process.stdout.write(text);
}

/** Each number with its unit in its name. The estimates come from a histogram, so each has the range of its bucket. */
function rowForScripts({ method, calls, errors, rate, errorRate, p50, p99 }: MethodRow): object {
  const ms = (seconds: number | undefined): number | undefined =>
    seconds === undefined ? undefined : Number((seconds * 1000).toFixed(3));
  // JSON has no Infinity; without an upper bound it is null.
  const range = (value: Quantile | undefined): readonly unknown[] | undefined =>
    value && [ms(value.from), value.to === Number.POSITIVE_INFINITY ? null : ms(value.to)];
  return {
    method,
    calls,
    errors,
    callsPerSecond: rate,
    errorsPerSecond: errorRate,
    p50Ms: ms(p50?.seconds),
    p50RangeMs: range(p50),
    p99Ms: ms(p99?.seconds),
    p99RangeMs: range(p99),
  };
}

async function scrape(
  url: URL,
  headers: Readonly<Record<string, string>>,
  timeoutMs: number,
  stop: AbortSignal,
): Promise<Scrape> {
  const time = AbortSignal.timeout(timeoutMs);
  // Node may collect a signal without references; awaiting it would then never end.
  const signal = AbortSignal.any([time, stop]);
  let response: Response;
  let text: string;
  try {
    response = await httpFetch(url.href, { headers, signal });
    text = await bodyOf(response);
  } catch (error) {
    if (stop.aborted) throw stopped("stopped", error);
    if (signal.aborted) {
      const report = { code: "TIMEOUT" };
      const message = `${url.href}: no reply within ${timeoutMs / 1000} s`;
      throw new Failure(message, { cause: error, exitCode: 3, report });
    }
    const better = await wrongAddress(url.href, error, headers);
    throw better ?? new Failure(`${url.href}: ${oneLine(error)}`, { cause: error, exitCode: 3 });
  }
  if (!response.ok) {
    const hint = response.status === 404 ? "; the server has no metrics at this path" : "";
    throw new Failure(`${url.href} answered HTTP ${response.status}${hint}`, { exitCode: 1 });
  }
  if (!text.includes("callwire_calls_in_flight")) {
    throw new Failure(`${url.href} does not have metrics of callwire`, { exitCode: 1 });
  }
  return readScrape(text, performance.now() / 1000);
}

function metricsUrl(address: string): URL {
  if (!/^https?:\/\//.test(address)) {
    throw new Failure(
      `the address must begin with http:// or https://, not ${JSON.stringify(address)}`,
    );
  }
  try {
    const url = new URL(address);
    return url.pathname.endsWith("/metrics") ? url : new URL("/metrics", url);
  } catch (error) {
    throw notAnAddress(address, "", error);
  }
}
