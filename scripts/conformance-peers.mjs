// Runs the conformance kit against other libraries, each in a process of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { runConformance } from "callwire/testing";
import {
  httpConformanceWire,
  rawWebSocketConformanceWire,
  socketConformanceWire,
} from "callwire/testing/node";

const program = fileURLToPath(
  new URL("../test/interop/fixtures/conformance-peer.mjs", import.meta.url),
);

/** By the names that the program knows; packages are in test/interop/package.json. */
export const peers = [
  { name: "jayson", wire: "HTTP", package: "jayson" },
  { name: "jayson-tcp", wire: "TCP", package: "jayson" },
  { name: "json-rpc-2.0", wire: "HTTP", package: "json-rpc-2.0" },
  { name: "rpc-websockets", wire: "WebSocket", package: "rpc-websockets" },
  { name: "open-rpc", wire: "HTTP", package: "@open-rpc/server-js" },
];

/**
 * What a peer does in each case. A peer that a case brings down is started again for the rest.
 * @param {string} name
 * @param {{ timeoutMs?: number, cases?: string[] }} [options] By default all cases.
 * @returns {Promise<import("callwire/testing").ConformanceResult[]>}
 */
export async function peerResults(name, { timeoutMs = 1_000, cases: chosen } = {}) {
  /** @type {import("callwire/testing").ConformanceResult[]} */
  const results = [];
  let cases = chosen;
  do {
    const peer = await startPeer(name);
    try {
      const report = await runConformance(wireTo(peer.url), { timeoutMs, cases });
      const dead = report.results.findIndex(({ fault }) => fault === "dead");
      const decided = dead === -1 ? report.results : report.results.slice(0, dead + 1);
      results.push(...decided);
      cases = report.results.slice(decided.length).map(({ case: { id } }) => id);
    } finally {
      await peer.stop();
    }
  } while (cases.length > 0);
  return results;
}

/** @param {string} url */
function wireTo(url) {
  if (url.startsWith("http:")) return httpConformanceWire(url);
  return url.startsWith("ws:") ? rawWebSocketConformanceWire(url) : socketConformanceWire(url);
}

/** @param {string} name */
async function startPeer(name) {
  const child = spawn(process.execPath, [program, name], { stdio: ["pipe", "pipe", "ignore"] });
  const exited = once(child, "exit");
  // It may be gone before it is told to go.
  child.stdin.on("error", () => {});
  const lines = createInterface(child.stdout);
  const [url] = await Promise.race([
    once(lines, "line"),
    exited.then(([code]) => {
      throw new Error(`${name} ended with the code ${code} before it listened`);
    }),
  ]);
  return {
    /** @type {string} */
    url,
    async stop() {
      // At once: it may still be at work on what it was sent.
      child.kill("SIGKILL");
      await exited;
    },
  };
}
