import { readFileSync } from "node:fs";

const { exports } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url)));
const entries = Object.keys(exports).filter((path) => path !== "./package.json");

export default {
  name: "entries",
  title: "Import of each entry point",
  measures: "CPU of a process that loads the entry",
  reference: "node",
  candidates: { node: "node, an empty program", callwire: "import" },
  workloads: entries.map((path) => `callwire${path.slice(1)}`),
  plotted: "callwire",
  drivenBy: "itself",
  sliceMs: 1,
  cycles: 6,
  warmUp: { ms: 0, calls: 1, atMostMs: 1 },
  targets: [],
};
