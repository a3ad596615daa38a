// Draws the pictures of docs/observability.md: `node scripts/draw-observability.mjs`.
//
// It starts the demo, Debian's Prometheus and a load for a minute. One picture is what `callwire top`
// printed. The other has the panels of docs/grafana-dashboard.json, each drawn from Prometheus' own
// answer to the panel's query; Grafana itself, which is not needed here, shows them its own way.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import { webSocketLink } from "callwire/ws";
import { panel, svg, terminal } from "./pictures.mjs";

const seconds = 60;
const address = /http:\/\/127\.0\.0\.1:\d+/;
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "callwire-draw-"));
const cli = join(root, "dist", "cli", "main.js");
/** @type {import("node:child_process").ChildProcess[]} */
const children = [];

try {
  const demo = node([cli, "demo", "--port", "0"]);
  const origin = await shown(demo, address);
  const config = join(folder, "gateway.json");
  const upstreams = { math: { urls: [`${origin}/rpc`, "http://127.0.0.1:1/rpc"] } };
  writeFileSync(
    config,
    JSON.stringify({ upstreams, routes: [{ method: "math/*", to: "math" }], metrics: true }),
  );
  const gateway = await shown(node([cli, "gateway", config, "--port", "0"]), address);
  const api = await startPrometheus({ demo: origin, gateway });
  const top = node([cli, "top", origin]);
  let printed = "";
  top.stdout?.on("data", (text) => {
    printed = (printed + text).slice(-8000);
  });
  await load(origin, gateway);
  writeFileSync(join(root, "docs/images/top.svg"), terminal("callwire top", lastTable(printed)));
  writeFileSync(join(root, "docs/images/dashboard.svg"), await board(api));
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
}

/** @param {string[]} args */
function node(args) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  return child;
}

/**
 * @param {import("node:child_process").ChildProcess} child
 * @param {RegExp} pattern
 */
async function shown(child, pattern) {
  if (child.stdout === null) throw new Error("nothing to read");
  for await (const line of createInterface(child.stdout)) {
    const [found] = pattern.exec(line) ?? [];
    if (found !== undefined) return found;
  }
  throw new Error("it ended early");
}

/** @param {Record<string, string>} origins */
async function startPrometheus(origins) {
  const static_configs = Object.entries(origins).map(([instance, origin]) => ({
    targets: [new URL(origin).host],
    labels: { instance },
  }));
  const config = {
    global: { scrape_interval: "1s" },
    scrape_configs: [{ job_name: "demo", static_configs }],
  };
  writeFileSync(join(folder, "prometheus.yml"), JSON.stringify(config));
  const own = "127.0.0.1:19099";
  const child = spawn(
    "prometheus",
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=${own}`,
    ],
    { stdio: "ignore" },
  );
  children.push(child);
  await once(child, "spawn");
  for (;;) {
    const answer = await fetch(`http://${own}/-/ready`).catch(() => undefined);
    if (answer?.ok) return `http://${own}`;
    await wait(100);
  }
}

/**
 * Calls that people might make: some often, some slow, some wrong.
 * @param {string} origin
 * @param {string} gateway in front of it
 */
async function load(origin, gateway) {
  const through = createClient(httpLink(`${gateway}/rpc`));
  const http = createClient(httpLink(`${origin}/rpc`));
  const ws = createClient(webSocketLink(`${origin.replace("http", "ws")}/rpc`));
  const until = Date.now() + seconds * 1000;
  /**
   * @param {number} pauseMs
   * @param {() => Promise<unknown>} call
   */
  const often = async (pauseMs, call) => {
    while (Date.now() < until) {
      await call().catch(() => {});
      // Busier and calmer in turns, so that there is something to see.
      await wait(pauseMs * (1.2 + Math.sin((seconds - (until - Date.now()) / 1000) / 5)));
    }
  };
  await Promise.all([
    ...[1, 2, 3].map(() => often(10, () => http.call("add", [2, 3]))),
    often(20, () => ws.call("math/add", { a: 1, b: 2 })),
    often(30, () => ws.call("echo", ["hello".repeat(20)])),
    often(200, () => ws.call("slow/work", { ms: 120 })),
    often(150, () => http.call("add", { a: "no number" })),
    often(400, () => http.call("made/up")),
    often(25, () => through.call("math/add", { a: 1, b: 2 })),
    often(300, async () => {
      for await (const _ of ws.stream("math/count", { to: 20 }));
    }),
    often(500, () => fetch(`${origin}/rpc`, { method: "POST", body: "text" })),
  ]);
  await Promise.all([http.close(), ws.close(), through.close()]);
}

/** @param {string} printed */
function lastTable(printed) {
  const at = printed.lastIndexOf("http://", printed.lastIndexOf("http://") - 1);
  const table = printed.slice(at, printed.lastIndexOf("http://")).trimEnd();
  // The port is another one each time.
  return table.replace(/127\.0\.0\.1:\d+/, "localhost:8000").split("\n");
}

/**
 * @typedef {object} Panel
 * @property {string} title
 * @property {{ x: number, y: number, w: number, h: number }} gridPos
 * @property {{ expr: string, legendFormat: string }[]} targets
 * @property {{ defaults: { unit: string } }} fieldConfig
 *
 * @typedef {{ metric: Record<string, string>, values: [number, string][] }} Answer
 */

/** @param {string} api */
async function board(api) {
  /** @type {{ panels: Panel[] }} */
  const { panels } = JSON.parse(readFileSync(join(root, "docs/grafana-dashboard.json"), "utf8"));
  const end = Date.now() / 1000;
  const cell = 40;
  const parts = [];
  for (const { title, gridPos, targets, fieldConfig } of panels) {
    const series = [];
    for (const { expr, legendFormat } of targets) {
      const query = expr.replaceAll("$__rate_interval", "5s").replaceAll("$job", ".*");
      const params = new URLSearchParams({
        query,
        start: `${end - seconds + 6}`,
        end: `${end}`,
        step: "1",
      });
      const answer = await fetch(`${api}/api/v1/query_range?${params}`);
      /** @type {{ data: { result: Answer[] } }} */
      const { data } = await answer.json();
      for (const { metric, values } of data.result) {
        const name = legendFormat.replace(/\{\{(\w+)\}\}/g, (_, label) => metric[label] ?? "");
        series.push({ name, points: values.map(([at, value]) => ({ at, value: Number(value) })) });
      }
    }
    const place = {
      x: gridPos.x * cell,
      y: gridPos.y * cell,
      w: gridPos.w * cell,
      h: gridPos.h * cell,
    };
    const { unit } = fieldConfig.defaults;
    parts.push(panel({ title, unit, series, from: end - seconds + 6, to: end, place }));
  }
  const rows = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  const body = `<rect width="100%" height="100%" fill="#111217"/>${parts.join("\n")}`;
  return svg(
    24 * cell,
    rows * cell,
    body,
    "12px system-ui, sans-serif",
    "The panels of the dashboard",
  );
}
