/** The results as tables for the terminal and for Markdown. */

/** Suites that measure how long calls take have three columns more; those that count bytes have one. */
function head({ rows }) {
  const times = rows.some(({ p99Ms }) => p99Ms !== undefined)
    ? ["p50 ms", "p99 ms", "p99.9 ms"]
    : [];
  const bytes = hasBytes(rows) ? ["bytes"] : [];
  const costs = ["ratio", "quartiles", "µs CPU", "per CPU second"];
  return ["workload", "candidate", ...costs, ...times, ...bytes, ""];
}

function hasBytes(rows) {
  return rows.some(({ bytes }) => bytes !== undefined);
}

export function terminal(suite) {
  const rows = resultRows(suite);
  const lines = [
    bold(suite.title),
    `${suite.measures}; ratio to "${suite.reference}", higher is better, ${suite.cycles} cycles`,
    "",
  ];
  lines.push(...aligned([head(suite), ...rows]));
  const targets = suite.targets.map((target) => [
    mark(target.passed),
    target.text,
    figures(target),
  ]);
  if (targets.length > 0) lines.push("", ...aligned(targets));
  if (suite.memory) lines.push("", ...memoryLines(suite.memory));
  if (suite.sessions) lines.push("", ...sessionLines(suite.sessions));
  return lines.join("\n");
}

export function markdown(suites) {
  const parts = [
    "# Benchmark results",
    "Written by `npm run bench`. Ratios are taken inside each cycle of one interleaved run: median and quartiles. Higher is better.",
  ];
  for (const suite of suites) {
    const { date, node, cpu, pinning } = suite.environment;
    parts.push(
      `## ${suite.title}`,
      `${suite.measures}. ${date}, ${node}, ${cpu}, ${pinning}, ${suite.cycles} cycles.`,
    );
    parts.push(grid(head(suite), resultRows(suite)));
    if (suite.targets.length > 0) {
      const rows = suite.targets.map((target) => [
        target.text,
        figures(target),
        word(target.passed),
      ]);
      parts.push(grid(["target", "measured", ""], rows));
    }
    if (suite.memory) parts.push(memoryLines(suite.memory).join("\n"));
    if (suite.sessions) parts.push(sessionLines(suite.sessions).join("\n"));
  }
  const versions = Object.entries(suites.at(-1)?.environment.versions ?? {});
  parts.push("## Versions", versions.map(([name, version]) => `${name} ${version}`).join(" · "));
  return `${parts.join("\n\n")}\n`;
}

function resultRows(suite) {
  const rows = [...suite.rows].sort(
    (a, b) =>
      workloadIndex(suite, a) - workloadIndex(suite, b) ||
      (b.ratio?.median ?? 0) - (a.ratio?.median ?? 0),
  );
  const hasTimes = rows.some(({ p99Ms }) => p99Ms !== undefined);
  return rows.map(({ workload, label, ratio, cpuMicros, p50Ms, p99Ms, p999Ms, bytes, note }) => [
    workload,
    label,
    ratio ? ratio.median.toFixed(2) : "",
    ratio ? `${ratio.q1.toFixed(2)}–${ratio.q3.toFixed(2)}` : "",
    cpuMicros === undefined ? "" : cpuMicros.toFixed(2),
    cpuMicros === undefined ? "" : Math.round(1e6 / cpuMicros).toLocaleString("en"),
    ...(hasTimes ? [p50Ms, p99Ms, p999Ms].map((ms) => ms?.toFixed(2) ?? "") : []),
    ...(hasBytes(rows) ? [bytes?.toLocaleString("en") ?? ""] : []),
    (note ?? "").split("\n", 1)[0].slice(0, 120),
  ]);
}

function workloadIndex(suite, row) {
  return suite.rows.findIndex(({ workload }) => workload === row.workload);
}

function figures({ measured, kind }) {
  if (!measured) return "not measured";
  if (kind === "memory") return `${measured.median.toFixed(1)} MiB`;
  if (kind === "session") return `${measured.median.toFixed(1)} kB`;
  const format = kind === "rate" ? (n) => Math.round(n).toLocaleString("en") : (n) => n.toFixed(2);
  return `${format(measured.median)} [${format(measured.q1)}–${format(measured.q3)}]`;
}

function memoryLines(memory) {
  const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  return Object.entries(memory).map(
    ([name, { items, unit = "items", heapBefore, heapAfter, rssBefore, rssPeak }]) =>
      `${name}, memory over ${items.toLocaleString("en")} ${unit}: heap ${mebibytes(heapBefore)} before and ` +
      `${mebibytes(heapAfter)} after, resident ${mebibytes(rssBefore)} before and ${mebibytes(rssPeak)} at most`,
  );
}

function sessionLines(sessions) {
  return Object.entries(sessions).map(
    ([name, { count, bytes }]) =>
      `${name}, memory of an idle session: ${(bytes / 1000).toFixed(1)} kB of heap (${count.toLocaleString("en")} were open)`,
  );
}

function word(passed) {
  return passed === undefined ? "not measured" : passed ? "pass" : "**missed**";
}

function mark(passed) {
  return passed === undefined ? "  ?   " : passed ? colour(32, "pass  ") : colour(31, "MISSED");
}

function grid(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** Text columns to the left, columns of figures to the right. */
function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const isFigure = rows[0].map((_, column) =>
    rows.slice(1).some((row) => /^[\d.,]+$/.test(row[column])),
  );
  return rows.map((row) =>
    row
      .map((cell, column) =>
        isFigure[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column]),
      )
      .join("  ")
      .trimEnd(),
  );
}

function bold(text) {
  return colour(1, text);
}

function colour(code, text) {
  return process.stdout.isTTY ? `\x1b[${code}m${text}\x1b[0m` : text;
}
