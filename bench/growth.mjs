/**
 * What grows with what: `node bench/growth.mjs [--quick]` measures 1 to 10,000 methods, 10 million calls, 1 to 10,000
 * idle connections and 1 to 1,000 KiB, beside `node:http` and `ws` by hand, and writes growth.json, growth.md and growth.svg to results/.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { environment } from "./environment.mjs";
import { linePlot } from "./line-plot.mjs";
import { spread } from "./measure.mjs";
import { asking, start } from "./processes.mjs";
import { resultsFolder } from "./results.mjs";

const { values: flags } = parseArgs({
  options: { quick: { type: "boolean", default: false }, out: { type: "string" } },
});
const counts = flags.quick ? [1, 100, 1000] : [1, 10, 100, 1000, 10_000];
const sizes = flags.quick ? [1, 64, 1000] : [1, 4, 16, 64, 256, 1000];
const [rounds, ms] = flags.quick ? [1, 200] : [5, 400];

const panels = [
  await methods(),
  ...(await manyCalls()),
  ...(await idleMemory()),
  await sizesOverHttp(),
];
const folder = resultsFolder(flags.out);
mkdirSync(folder, { recursive: true });
const here = environment();
writeFileSync(
  join(folder, "growth.json"),
  `${JSON.stringify({ environment: here, panels }, null, 2)}\n`,
);
writeFileSync(join(folder, "growth.svg"), linePlot(panels));
const text = markdown(panels);
writeFileSync(join(folder, "growth.md"), text);
console.log(text);

async function methods() {
  const end = ownProcess("candidate");
  const points = [];
  // The compiler needs some time.
  await end.ask("dispatch", { count: 100, ms: 2000 });
  for (const count of counts) {
    const measured = [];
    for (let i = 0; i < rounds; i++) measured.push(await end.ask("dispatch", { count, ms }));
    points.push({ x: count, y: median(measured.map(({ micros }) => micros)) });
  }
  end.close();
  return {
    title: "A call in process, by the number of methods",
    x: "methods",
    unit: "µs of CPU per call",
    lines: [{ name: "callwire", points }],
  };
}

async function manyCalls() {
  const end = ownProcess("candidate");
  const slices = await end.ask("many", { millions: flags.quick ? 3 : 10 });
  end.close();
  const line = (value) => [
    { name: "callwire", points: slices.map((slice, i) => ({ x: i + 1, y: value(slice) })) },
  ];
  const shared = { title: "Ten million calls in process", x: "millions" };
  return [
    { ...shared, unit: "µs of CPU per call", lines: line(({ micros }) => micros) },
    { ...shared, unit: "MB of heap", lines: line(({ heap }) => heap / 1e6) },
  ];
}

/** The server's memory and the cost of a call, with this many idle connections. */
async function idleMemory() {
  const memory = [];
  const costs = [];
  for (const wire of ["http", "websocket"]) {
    for (const kind of ["callwire", "byHand"]) {
      const name = kind === "callwire" ? `callwire, ${wire}` : wire === "http" ? "node:http" : "ws";
      const bytes = [];
      const cpu = [];
      for (const count of counts) {
        const [server, client] = [ownProcess("candidate"), ownProcess("load")];
        const { port } = await server.ask("serve", { kind });
        await client.ask("connect", { port, count: 20, wire });
        const before = await server.ask("memory");
        await client.ask("connect", { port, count, wire }, 120_000);
        const after = await server.ask("memory");
        bytes.push({ x: count, y: Math.max(0, (after.rss - before.rss) / count / 1000) });
        if (wire === "http") {
          await client.ask("load", { port, kib: 1, connections: 8, ms });
          const spent = await server.ask("cpu");
          const { calls } = await client.ask("load", { port, kib: 1, connections: 8, ms });
          cpu.push({ x: count, y: ((await server.ask("cpu")) - spent) / calls });
        }
        server.close();
        client.close();
      }
      // With few connections, most of the heap's growth has other causes.
      memory.push({ name, points: bytes.filter(({ x }) => x >= 1000) });
      if (wire === "http") costs.push({ name, points: cpu });
    }
  }
  return [
    { title: "Memory of an idle connection", x: "connections", unit: "kB resident", lines: memory },
    {
      title: "A call of 1 KiB over HTTP, by the number of idle connections",
      x: "connections",
      unit: "µs of CPU per call",
      lines: costs,
    },
  ];
}

async function sizesOverHttp() {
  const client = ownProcess("load");
  const lines = [];
  const servers = [];
  for (const kind of ["callwire", "byHand"]) {
    const server = ownProcess("candidate");
    const { port } = await server.ask("serve", { kind });
    servers.push({ server, port, points: new Map(sizes.map((kib) => [kib, []])) });
    lines.push({ name: kind === "callwire" ? "callwire" : "node:http", points: [] });
  }
  for (let i = 0; i <= rounds; i++) {
    for (const kib of sizes) {
      for (const { server, port, points } of servers) {
        const before = await server.ask("cpu");
        const { calls } = await client.ask("load", { port, kib, connections: 8, ms });
        // The first round warms up.
        if (i > 0) points.get(kib).push(((await server.ask("cpu")) - before) / calls);
      }
    }
  }
  servers.forEach(({ server, points }, i) => {
    lines[i].points = sizes.map((kib) => ({ x: kib, y: median(points.get(kib)) }));
    server.close();
  });
  client.close();
  return {
    title: "An echo over HTTP, by its size",
    x: "KiB",
    unit: "µs of CPU per call",
    lines,
    isLog: true,
  };
}

function ownProcess(role) {
  const child = start("growth-end.mjs", [], { role, nodeFlags: ["--expose-gc"] });
  const ask = asking(child, "an end");
  return {
    ask: (type, content = {}, timeoutMs = 60_000) => ask(type, content, timeoutMs),
    close: () => child.disconnect(),
  };
}

function median(values) {
  return spread(values).median;
}

function markdown(all) {
  const parts = [
    "# What grows with what",
    `Written by \`node bench/growth.mjs\`. ${here.date}, ${here.node}, ${here.cpu}, ${here.pinning}.`,
    "![The same as plots](growth.svg)",
  ];
  for (const { title, x, unit, lines } of all) {
    const xs = lines[0].points.map((point) => point.x);
    const head = [x, ...xs.map((each) => each.toLocaleString("en"))];
    const rows = lines.map(({ name, points }) => [
      `${name}, ${unit}`,
      ...points.map(({ y }) => shown(y)),
    ]);
    parts.push(
      `## ${title}`,
      [head, head.map((_, i) => (i === 0 ? "---" : "---:")), ...rows]
        .map((cells) => `| ${cells.join(" | ")} |`)
        .join("\n"),
    );
  }
  return `${parts.join("\n\n")}\n`;
}

function shown(value) {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}
