/** A profile of V8 (`--cpu-prof`) as a flame graph, readable on light and dark pages. */

const width = 900;
const rowHeight = 18;
const headHeight = 52;
/** Narrower bars are left out. */
const leastShare = 0.004;
/** Which part a function belongs to, by its file. */
const parts = [
  ["callwire", /\/dist\/(?!cli\/)|\/callwire\//, "#2f9e76"],
  ["other packages", /node_modules/, "#7a6fc4"],
  ["Node", /^node:/, "#5b8fc9"],
  ["system calls, collector, V8", /^$/, "#a0a7b0"],
  ["the bench", /./, "#c9a15b"],
];

export function flameGraph(profile, title) {
  const root = treeOf(profile);
  const rows = [];
  place(root, 0, 1, 0, rows);
  const depth = Math.max(...rows.map((row) => row.depth)) + 1;
  const height = headHeight + depth * rowHeight + 10;
  const bars = rows.map(({ node, from, share, depth: at }) => {
    const [x, y] = [10 + from * (width - 20), height - 10 - (at + 1) * rowHeight];
    const w = share * (width - 20);
    const label = w > 7 * 6 ? escaped(node.name.slice(0, Math.floor(w / 6.6))) : "";
    const text = label && `<text x="${fixed(x + 3)}" y="${y + 13}">${label}</text>`;
    return `<g><title>${escaped(node.name)}: ${(share * 100).toFixed(1)} %</title><rect x="${fixed(x)}" y="${y}" width="${fixed(Math.max(w - 0.6, 0.4))}" height="${rowHeight - 1}" fill="${node.colour}"/>${text}</g>`;
  });
  const legend = parts.map(
    ([name, , colour], i) =>
      `<rect x="${10 + i * 178}" y="32" width="10" height="10" fill="${colour}"/><text class="key" x="${24 + i * 178}" y="41">${name}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
<style>text{font:11px system-ui,sans-serif;fill:#10151a}.title,.key{fill:#1f2328}.title{font-size:15px;font-weight:600}.page{fill:#fff}@media(prefers-color-scheme:dark){.page{fill:#0d1117}.title,.key{fill:#e6edf3}}</style>
<rect class="page" width="${width}" height="${height}"/>
<text class="title" x="10" y="20">${escaped(title)}</text>
${[...legend, ...bars].join("\n")}
</svg>
`;
}

/** Calls of the same function under the same caller become one node; idle time is left out. */
function treeOf({ nodes, samples, timeDeltas }) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const self = new Map();
  // The first half is warming up.
  for (let i = samples.length >> 1; i < samples.length; i++) {
    self.set(samples[i], (self.get(samples[i]) ?? 0) + timeDeltas[i]);
  }
  const merge = (group) => {
    const children = new Map();
    let time = 0;
    for (const { id, children: ids = [] } of group) {
      time += self.get(id) ?? 0;
      for (const child of ids.map((each) => byId.get(each))) {
        const { functionName, url } = child.callFrame;
        if (functionName === "(idle)") continue;
        const key = `${functionName} ${url}`;
        if (!children.has(key)) children.set(key, []);
        children.get(key).push(child);
      }
    }
    const { functionName, url } = group[0].callFrame;
    const below = [...children.values()].map(merge).sort((a, b) => b.time - a.time);
    return {
      name: functionName || "(anonymous)",
      colour: parts.find(([, pattern]) => pattern.test(url))[2],
      time: time + below.reduce((sum, child) => sum + child.time, 0),
      below,
    };
  };
  return merge([nodes[0]]);
}

function place(node, from, share, depth, rows) {
  rows.push({ node, from, share, depth });
  let at = from;
  for (const child of node.below) {
    const part = (child.time / node.time) * share;
    if (part >= leastShare) place(child, at, part, depth + 1, rows);
    at += part;
  }
}

function fixed(number) {
  return Number(number.toFixed(1));
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
