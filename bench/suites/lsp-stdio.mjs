import { atLeast } from "../targets.mjs";

const workloads = ["completion with 1,000 items", "1,000 document changes"];

export default {
  name: "lsp-stdio",
  title: "LSP over stdio",
  measures: "server CPU per request",
  reference: "vscode",
  candidates: {
    vscode: "vscode-languageserver 10",
    callwire: "callwire serveLsp",
    "by-hand": "JSON.parse, JSON.stringify and a write, no documents",
  },
  workloads,
  plotted: "1,000 document changes",
  drivenBy: "load",
  sliceMs: 200,
  cycles: 15,
  warmUp: { ms: 500, calls: 200, atMostMs: 3000 },
  // Most of a completion is JSON.stringify and the pipe, so that no server can be five times as fast there.
  targets: [
    atLeast(5, "callwire", "vscode", ["1,000 document changes"]),
    atLeast(1, "callwire", "vscode", ["completion with 1,000 items"]),
  ].flat(),
};
