/** Lines over a logarithmic axis as one SVG, a panel each, readable on light and dark pages. */

const width = 720;
const panelHeight = 220;
const left = 64;
const right = 170;
const top = 46;
const bottom = 40;
const colours = ["#1f7a5c", "#8c959f", "#7a4fbf", "#c46a1a"];

const style = `
  text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
  .title { font-size: 14px; font-weight: 600; }
  .page { fill: #ffffff; }
  .axis { stroke: #8c959f; fill: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .page { fill: #0d1117; }
  }`;

/** A panel has `title`, `x`, `unit` and `lines`, each with `name` and `points`; `isLog` makes both axes logarithmic. */
export function linePlot(panels) {
  const height = panels.length * panelHeight + 16;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="What grows with what">
<style>${style}
</style>
<rect class="page" width="${width}" height="${height}"/>
${panels.map((panel, i) => drawn(panel, i * panelHeight)).join("\n")}
</svg>
`;
}

function drawn({ title, x, unit, lines, isLog = false }, offset) {
  const all = lines.flatMap(({ points }) => points);
  const xs = [...new Set(all.map((point) => point.x))].sort((a, b) => a - b);
  const most = Math.max(...all.map(({ y }) => y)) * 1.1;
  const least = isLog ? Math.min(...all.map(({ y }) => y)) / 1.2 : 0;
  const [floor, ceiling] = [offset + panelHeight - bottom, offset + top];
  const share = (value, low, high) => (high === low ? 0 : (value - low) / (high - low));
  const scale = isLog ? Math.log10 : (value) => value;
  const across = (value) =>
    left +
    share(Math.log10(value), Math.log10(xs[0]), Math.log10(xs.at(-1))) * (width - left - right);
  const up = (value) => floor - share(scale(value), scale(least), scale(most)) * (floor - ceiling);
  const marks = isLog ? [least * 1.2, most / 1.1] : [0, most / 1.1];
  return [
    `<text class="title" x="16" y="${offset + 20}">${escaped(title)}</text>`,
    `<text x="16" y="${offset + 37}">${escaped(unit)}</text>`,
    `<path class="axis" d="M${left} ${ceiling}V${floor}H${width - right}"/>`,
    ...marks.map(
      (y) => `<text x="${left - 6}" y="${fixed(up(y) + 4)}" text-anchor="end">${shown(y)}</text>`,
    ),
    ...xs.map(
      (each) =>
        `<text x="${fixed(across(each))}" y="${floor + 16}" text-anchor="middle">${each.toLocaleString("en")}</text>`,
    ),
    `<text x="${width - right + 32}" y="${floor + 16}">${escaped(x)}</text>`,
    ...lines.map(({ name, points }, i) => {
      const path = points.map(({ x: px, y }) => `${fixed(across(px))} ${fixed(up(y))}`).join("L");
      const colour = colours[i % colours.length];
      const label = { x: width - right + 10, y: ceiling + 14 * (i + 1) };
      return `<path d="M${path}" fill="none" stroke="${colour}" stroke-width="2"/><text x="${label.x}" y="${label.y}" style="fill:${colour}">${escaped(name)}</text>`;
    }),
  ].join("\n");
}

function shown(value) {
  return value >= 1000
    ? Math.round(value).toLocaleString("en")
    : Number(value.toPrecision(2)).toString();
}

function fixed(number) {
  return Number(number.toFixed(1));
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
