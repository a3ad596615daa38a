import { setTimeout as wait } from "node:timers/promises";
import { command } from "../command.ts";
import { Failure, oneLine } from "../failure.ts";
import { httpFetch } from "../http-fetch.ts";
import { stopCode, stopSignal } from "../process-end.ts";
import { bodyOf } from "../raw-wire.ts";
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

export const top = command({
  usage: "<url> [options]",
  options: {
    interval: { type: "string", value: "seconds", description: "look so often (default 1)" },
    once: { type: "boolean", description: "look once: totals since the server's start" },
    json: { type: "boolean", description: "write JSON, a line for each look" },
  },
  examples: [
    ["callwire top http://localhost:8000", "reads /metrics of the demo, until Ctrl-C"],
    ["callwire top http://localhost:8000 --once --json", "for a script"],
  ],
  async run(flags, positionals) {
    const [address, extra] = positionals;
    if (address === undefined) throw new Failure('top needs an address; see "callwire top --help"');
    if (extra !== undefined)
      throw new Failure(`top takes one address, not ${JSON.stringify(extra)} too`);
    const seconds = Number(flags.interval ?? "1");
    if (!(seconds >= 0.1 && seconds <= 3600)) {
      throw new Failure(
        `--interval is a number of seconds from 0.1 to 3600, not ${JSON.stringify(flags.interval)}`,
      );
    }
    const url = metricsUrl(address);
    if (flags.once === true) {
      show(url, undefined, await scrape(url, stopSignal()), flags.json === true, false);
      return;
    }
    const signal = stopSignal();
    const live = process.stdout.isTTY && flags.json !== true;
    if (live) process.stdout.write("\u001b[?25l");
    let looks = 0;
    try {
      for (let before = await scrape(url, signal); ; looks++) {
        await wait(seconds * 1000, undefined, { signal });
        const now = await scrape(url, signal);
        show(url, before, now, flags.json === true, live);
        before = now;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      if (looks === 0)
        throw new Failure("stopped before the first look", { cause: error, exitCode: stopCode() });
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
  // From the top of the screen, each line to its end: clearing it all would flicker.
  const text = live
    ? `\u001b[H${lines.join("\u001b[K\n")}\u001b[K\n\u001b[J`
    : `${lines.join("\n")}\n`;
  process.stdout.write(text);
}

/** Each number with its unit in its name; of a bucket without one of its bounds, the other. */
function rowForScripts({ method, calls, errors, rate, errorRate, p50, p99 }: MethodRow): object {
  const ms = (value: Quantile | undefined): number | undefined =>
    value === undefined ? undefined : Number((value.seconds * 1000).toFixed(3));
  return {
    method,
    calls,
    errors,
    callsPerSecond: rate,
    errorsPerSecond: errorRate,
    p50Ms: ms(p50),
    p99Ms: ms(p99),
  };
}

/** How long one look may take. */
const lookMs = 10_000;

async function scrape(url: URL, stop: AbortSignal): Promise<Scrape> {
  const time = AbortSignal.timeout(lookMs);
  // Node lets go of signals that nobody holds, and what waits for them then waits for ever.
  const signal = AbortSignal.any([time, stop]);
  let response: Response;
  let text: string;
  try {
    response = await httpFetch(url.href, { signal });
    text = await bodyOf(response);
  } catch (error) {
    if (stop.aborted) throw new Failure("stopped", { cause: error, exitCode: stopCode() });
    if (signal.aborted) {
      const report = { code: "TIMEOUT" };
      const silent = `${url.href}: no answer within ${lookMs / 1000} s`;
      throw new Failure(silent, { cause: error, exitCode: 3, report });
    }
    const misplaced = await wrongAddress(url.href, error);
    throw misplaced ?? new Failure(`${url.href}: ${oneLine(error)}`, { cause: error, exitCode: 3 });
  }
  if (!response.ok) {
    const hint = response.status === 404 ? "; the server has no metrics there" : "";
    throw new Failure(`${url.href} answered ${response.status}${hint}`, { exitCode: 1 });
  }
  if (!text.includes("callwire_calls_in_flight")) {
    throw new Failure(`${url.href} has no metrics of callwire`, { exitCode: 1 });
  }
  return readScrape(text, performance.now() / 1000);
}

/** The page itself, or that of the server whose address it is. */
function metricsUrl(address: string): URL {
  if (!/^https?:\/\//.test(address)) {
    throw new Failure(`top takes http:// addresses, not ${JSON.stringify(address)}`);
  }
  try {
    const url = new URL(address);
    return url.pathname.endsWith("/metrics") ? url : new URL("/metrics", url);
  } catch (error) {
    throw new Failure(`${JSON.stringify(address)} is no address`, { cause: error });
  }
}
