import { printable } from "callwire";
import type { Terminal } from "../terminal.ts";
import { widest } from "../text-columns.ts";
import type { MethodRow, Quantile, Scrape } from "./scrape.ts";

const titles = ["method", "calls/s", "errors/s", "p50", "p99", "calls", "errors"];

export interface Room {
  readonly methods: number;
  /** Longer lines are cut, because wrapping would scroll the screen. */
  readonly width: number;
}

export function tableOf(
  url: string,
  scrape: Scrape,
  rows: readonly MethodRow[],
  terminal: Terminal,
  { methods: most, width }: Room,
): string[] {
  const total = (name: string): number => scrape.totals.get(name) ?? 0;
  const sum = (pick: (row: MethodRow) => number | undefined): number =>
    rows.reduce((all, row) => all + (pick(row) ?? 0), 0);
  const cells = rows
    .slice(0, most)
    .map((row) => [
      short(row.method),
      rate(row.rate),
      rate(row.errorRate),
      quantile(row.p50),
      quantile(row.p99),
      `${row.calls}`,
      `${row.errors}`,
    ]);
  const widths = titles.map((title, i) => widest([title, ...cells.map((row) => row[i] ?? "")]));
  const cut = (text: string): string => text.slice(0, width);
  const line = (row: readonly string[]): string =>
    cut(
      row
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join("  "),
    );
  const headline = rows.some((row) => row.rate !== undefined)
    ? `${rate(sum((row) => row.rate))} calls/s, ${rate(sum((row) => row.errorRate))} errors/s`
    : `${sum((row) => row.calls)} calls, ${sum((row) => row.errors)} errors since the server started`;
  const lag = duration(total("event_loop_lag_seconds"));
  return [
    terminal.bold(cut(url)) + cut(`${url}  ${headline}`).slice(url.length),
    terminal.dim(
      cut(
        `in flight ${total("calls_in_flight")}, connections ${total("connections")}, streams ${total("streams")}, ` +
          `queued ${total("queue_depth")}, shed ${total("shed_total")}, rate-limited ${total("rate_limited_total")}, lag ${lag}`,
      ),
    ),
    "",
    terminal.dim(line(titles)),
    ...cells.map((row, i) =>
      (rows[i]?.errorRate ?? 0) > 0 ? terminal.bold(line(row)) : line(row),
    ),
    ...(rows.length > most ? [terminal.dim(`… ${rows.length - most} more`)] : []),
    ...(rows.length === 0 ? [terminal.dim("no calls yet")] : []),
  ];
}

function rate(value: number | undefined): string {
  if (value === undefined) return "-";
  return value >= 100 || value === 0 ? value.toFixed(0) : value.toFixed(1);
}

/** The bucket, because the histogram does not show where in it the value is. */
function quantile(value: Quantile | undefined): string {
  if (value === undefined) return "-";
  const { from, to } = value;
  if (from === 0) return `<${bound(to)}`;
  if (to === Number.POSITIVE_INFINITY) return `>${bound(from)}`;
  const [low, unit] = bound(from).split(" ");
  const [high, same] = bound(to).split(" ");
  return unit === same ? `${low}-${high} ${unit}` : `${bound(from)}-${bound(to)}`;
}

function duration(seconds: number): string {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  const ms = seconds * 1000;
  return `${ms >= 10 || ms === 0 ? ms.toFixed(0) : ms.toFixed(2)} ms`;
}

function bound(seconds: number): string {
  return seconds >= 1 ? `${seconds} s` : `${Number((seconds * 1000).toPrecision(3))} ms`;
}

function short(name: string): string {
  const text = printable(name);
  return text.length <= 48 ? text : `${text.slice(0, 47)}…`;
}
