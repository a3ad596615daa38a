import { bar } from "../live-line.ts";
import type { Terminal } from "../terminal.ts";
import type { Load } from "./load.ts";

const percents = [50, 90, 99, 99.9];

export function reportOf(load: Load): Record<string, unknown> {
  const { latencies } = load;
  const ms = (value: number) => (latencies.count === 0 ? null : round(value));
  return {
    calls: latencies.count,
    perSecond: round(perSecond(load)),
    seconds: round(load.elapsedMs / 1000),
    errors: Object.fromEntries(load.errors),
    unsent: load.unsent,
    latencyMs: {
      min: ms(latencies.minMs),
      mean: ms(latencies.meanMs),
      ...Object.fromEntries(percents.map((each) => [`p${each}`, ms(latencies.percentile(each))])),
      max: ms(latencies.maxMs),
    },
    histogram: latencies
      .rows(20)
      .map(({ fromMs, toMs, count }) => ({ fromMs: round(fromMs), toMs: round(toMs), count })),
  };
}

export function showReport(load: Load, terminal: Terminal): void {
  const { latencies, errors, unsent } = load;
  const seconds = (load.elapsedMs / 1000).toFixed(1);
  terminal.line(
    `${terminal.bold(shownRate(perSecond(load)))} calls per second: ${whole(latencies.count)} in ${seconds} s`,
  );
  for (const [code, count] of [...errors].sort((a, b) => b[1] - a[1])) {
    terminal.line(terminal.red(`${whole(count)} failed with ${code}`));
  }
  if (unsent > 0) {
    terminal.line(
      terminal.yellow(
        `${whole(unsent)} were due but not sent, because all earlier calls were open`,
      ),
    );
  }
  if (latencies.count === 0) return;
  terminal.line();
  const named = [
    ...percents.map((percent) => [`p${percent}`, latencies.percentile(percent)] as const),
    ["max", latencies.maxMs] as const,
  ];
  terminal.line(`Latency  ${named.map(([name]) => name.padStart(10)).join("")}`);
  terminal.line(`         ${named.map(([, ms]) => shownMs(ms).padStart(10)).join("")}`);
  terminal.line();
  const rows = latencies.rows(12);
  const most = Math.max(...rows.map(({ count }) => count));
  for (const { fromMs, toMs, count } of rows) {
    const share = ((100 * count) / latencies.count).toFixed(
      count > 0 && count * 1000 < latencies.count ? 3 : 1,
    );
    const range = `${shownMs(fromMs).padStart(9)} … ${shownMs(toMs).padEnd(9)}`;
    const drawn = count > 0 ? bar(count / most, 40) || "▏" : "";
    terminal.line(`${range} ${terminal.cyan(drawn.padEnd(40))} ${share.padStart(6)}%`);
  }
}

export function perSecond({ latencies, elapsedMs }: Load): number {
  return elapsedMs === 0 ? 0 : (latencies.count * 1000) / elapsedMs;
}

export function shownRate(perSecond: number): string {
  const maximumFractionDigits = perSecond < 10 ? 1 : 0;
  return perSecond.toLocaleString("en-US", { maximumFractionDigits });
}

function whole(count: number): string {
  return Math.round(count).toLocaleString("en-US");
}

export function shownMs(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const digits = ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3;
  return `${ms.toFixed(digits)} ms`;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
