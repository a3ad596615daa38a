/** The results as one SVG: a panel per suite, a bar per candidate, readable on light and dark pages. */

const width = 880;
const labelWidth = 330;
const figureWidth = 130;
const barHeight = 16;
const rowHeight = 24;
const headHeight = 62;
const panelGap = 26;
const margin = 24;
const barsWidth = width - 2 * margin - labelWidth - figureWidth;

const style = `
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
  .title { font-size: 15px; font-weight: 600; }
  .quiet { fill: #656d76; font-size: 12px; font-weight: 400; }
  .own { font-weight: 600; }
  .end { text-anchor: end; }
  .page { fill: #ffffff; }
  .bar { fill: #c3cad3; }
  .bar.reference { fill: #8c959f; }
  .bar.own { fill: #1f7a5c; }
  .whisker { stroke: #1f2328; stroke-width: 1.2; fill: none; }
  .one { stroke: #656d76; stroke-dasharray: 3 3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .quiet { fill: #8d96a0; }
    .page { fill: #0d1117; }
    .bar { fill: #3d444d; }
    .bar.reference { fill: #656d76; }
    .bar.own { fill: #2f9e76; }
    .whisker { stroke: #e6edf3; }
    .one { stroke: #8d96a0; }
  }`;

export function plot(suites) {
  let top = margin;
  const panels = suites.map((suite) => {
    const rows = plottedRows(suite);
    const drawn = panel(suite, rows, top);
    top += headHeight + rows.length * rowHeight + panelGap;
    return drawn;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top}" viewBox="0 0 ${width} ${top}" role="img" aria-label="Benchmark results: ratio of CPU cost to a reference, per suite">
<style>${style}
</style>
<rect class="page" width="${width}" height="${top}"/>
${panels.join("\n")}
</svg>
`;
}

/** The measured rows of the suite's chief workload, best first. */
function plottedRows({ rows, plotted }) {
  return rows
    .filter(({ workload, ratio }) => workload === plotted && ratio)
    .sort((a, b) => b.ratio.median - a.ratio.median);
}

function panel(suite, rows, top) {
  const most = Math.max(1, ...rows.map(({ ratio }) => ratio.q3));
  const x = (ratio) => margin + labelWidth + (ratio / most) * barsWidth;
  const first = top + headHeight;
  const bottom = first + rows.length * rowHeight;
  const subtitle = `${suite.plotted}: ${suite.measures}, ratio to the reference (dashed), higher is better`;
  return [
    `<text class="title" x="${margin}" y="${top + 16}">${escaped(suite.title)}</text>`,
    `<text class="quiet" x="${margin}" y="${top + 36}">${escaped(subtitle)}</text>`,
    `<text class="quiet end" x="${width - margin - 80}" y="${first - 10}">ratio</text>`,
    `<text class="quiet end" x="${width - margin}" y="${first - 10}">CPU</text>`,
    `<line class="one" x1="${fixed(x(1))}" x2="${fixed(x(1))}" y1="${first - 8}" y2="${bottom}"/>`,
    ...rows.map((row, i) => bar(row, suite.reference, x, first + i * rowHeight)),
  ].join("\n");
}

function bar({ candidate, label, ratio, cpuMicros }, reference, x, top) {
  const isReference = candidate === reference;
  const kind = candidate.startsWith("callwire") ? " own" : isReference ? " reference" : "";
  const middle = top + barHeight / 2;
  const left = x(0);
  const parts = [
    `<text class="end${kind}" x="${left - 10}" y="${middle + 4}">${escaped(label)}</text>`,
    `<rect class="bar${kind}" x="${left}" y="${top}" width="${fixed(x(ratio.median) - left)}" height="${barHeight}" rx="2"/>`,
    `<text class="end${kind}" x="${width - margin - 80}" y="${middle + 4}">${ratio.median.toFixed(2)}</text>`,
    `<text class="quiet end" x="${width - margin}" y="${middle + 4}">${time(cpuMicros)}</text>`,
  ];
  if (!isReference) {
    const [q1, q3] = [fixed(x(ratio.q1)), fixed(x(ratio.q3))];
    parts.push(
      `<path class="whisker" d="M${q1} ${middle}H${q3}M${q1} ${middle - 3}v6M${q3} ${middle - 3}v6"/>`,
    );
  }
  return parts.join("\n");
}

function time(micros) {
  return micros < 1
    ? `${Math.round(micros * 1000)} ns`
    : `${micros.toPrecision(micros < 100 ? 2 : 3)} µs`;
}

function fixed(number) {
  return Number(number.toFixed(1));
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
