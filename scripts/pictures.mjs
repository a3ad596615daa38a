/** Pictures as SVG: lines of a terminal, and panels of lines over time. */

const palette = [
  "#73bf69",
  "#f2cc0c",
  "#8ab8ff",
  "#ff9830",
  "#f2495c",
  "#b877d9",
  "#5fd4c4",
  "#ca95e5",
];

/**
 * @param {string} title
 * @param {string[]} lines
 */
export function terminal(title, lines) {
  const width = 40 + Math.max(...lines.map((line) => line.length)) * 8.4;
  const height = 70 + lines.length * 20;
  const rows = lines.map(
    (line, i) => `<text x="20" y="${62 + i * 20}" xml:space="preserve">${escaped(line)}</text>`,
  );
  return svg(
    width,
    height,
    `<rect width="100%" height="100%" rx="8" fill="#16181d"/>
<text x="20" y="28" fill="#7d8590">$ ${title} http://localhost:8000</text>
<g fill="#e6edf3">${rows.join("\n")}</g>`,
    "14px ui-monospace, Menlo, Consolas, monospace",
    "callwire in a terminal",
  );
}

/**
 * Lines over time, with a scale and a legend.
 *
 * @typedef {{ name: string, points: { at: number, value: number }[] }} Series
 * @param {object} drawn
 * @param {string} drawn.title
 * @param {string} drawn.unit
 * @param {Series[]} drawn.series
 * @param {number} drawn.from
 * @param {number} drawn.to
 * @param {{ x: number, y: number, w: number, h: number }} drawn.place
 */
export function panel({ title, unit, series, from, to, place: { x, y, w, h } }) {
  const box = { left: x + 64, top: y + 40, width: w - 84, height: h - 100 };
  const known = series.filter(({ points }) => points.some(({ value }) => Number.isFinite(value)));
  const most = Math.max(0, ...known.flatMap(({ points }) => points.map(({ value }) => value || 0)));
  const top = most === 0 ? 1 : most * 1.1;
  /** @param {number} at */
  const px = (at) => box.left + (box.width * (at - from)) / (to - from);
  /** @param {number} value */
  const py = (value) => box.top + box.height * (1 - value / top);
  const lines = known.map(({ points }, i) => {
    const path = points
      .filter(({ value }) => Number.isFinite(value))
      .map(({ at, value }) => `${px(at).toFixed(1)},${py(value).toFixed(1)}`)
      .join(" ");
    return `<polyline points="${path}" fill="none" stroke="${palette[i % palette.length]}" stroke-width="1.5"/>`;
  });
  const ticks = [0, 0.5, 1].map((part) => {
    const at = py(top * part);
    return `<line x1="${box.left}" x2="${box.left + box.width}" y1="${at}" y2="${at}" stroke="#2c3038"/>
<text x="${box.left - 8}" y="${at + 4}" text-anchor="end" fill="#8e9196">${shownValue(top * part, unit)}</text>`;
  });
  let at = box.left;
  let line = 0;
  const legend = known.slice(0, 12).map(({ name }, i) => {
    const wide = 24 + name.length * 6.6;
    if (at + wide > x + w - 8) {
      at = box.left;
      line++;
    }
    const spot = at;
    at += wide;
    const down = y + h - 40 + line * 16;
    return `<rect x="${spot}" y="${down}" width="10" height="3" fill="${palette[i % palette.length]}"/>
<text x="${spot + 14}" y="${down + 6}" fill="#ccccdc">${escaped(name)}</text>`;
  });
  return `<g><rect x="${x + 4}" y="${y + 4}" width="${w - 8}" height="${h - 8}" rx="3" fill="#181b1f" stroke="#2c3038"/>
<text x="${x + 16}" y="${y + 26}" fill="#ccccdc" font-weight="600">${escaped(title)}</text>
${[...ticks, ...lines, ...legend].join("\n")}</g>`;
}

/**
 * @param {number} value
 * @param {string} unit
 */
function shownValue(value, unit) {
  const number = unit === "s" ? value * 1000 : value;
  const text = number >= 10 || number === 0 ? number.toFixed(0) : number.toFixed(1);
  if (unit === "s") return `${text} ms`;
  if (unit === "bytes") return `${(value / 2 ** 20).toFixed(0)} MiB`;
  if (unit === "percentunit") return `${(value * 100).toFixed(0)}%`;
  return unit === "reqps" ? `${text}/s` : text;
}

/**
 * @param {number} width
 * @param {number} height
 * @param {string} body
 * @param {string} font
 * @param {string} title for those who cannot see it
 */
export function svg(width, height, body, font, title) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" style="font: ${font}">
<title>${title}</title>
${body}
</svg>
`;
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
