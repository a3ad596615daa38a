// @ts-nocheck: only the scripts that import it are type-checked.
/** Child processes that are pinned to a core and answer questions over IPC. */
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [candidateCore, loadCore] = pinnableCores();

export const pinning =
  candidateCore === undefined
    ? "not pinned"
    : `candidates on core ${candidateCore}, load on core ${loadCore}`;

/** Starts `file` under node; `role` is "candidate" or "load" and chooses the core. */
export function start(file, args, { role, nodeFlags = [], stdio }) {
  const core = role === "candidate" ? candidateCore : loadCore;
  const node = [
    process.execPath,
    ...nodeFlags,
    fileURLToPath(new URL(file, import.meta.url)),
    ...args,
  ];
  const [command, ...rest] = core === undefined ? node : ["taskset", "-c", String(core), ...node];
  return spawn(command, rest, {
    stdio: stdio ?? ["ignore", "ignore", "pipe", "ipc"],
    // Some candidates would find the native masks of bufferutil, and others would not.
    env: {
      ...process.env,
      BENCH_CORES: [candidateCore, loadCore].join(),
      NODE_ENV: "production",
      WS_NO_BUFFER_UTIL: "1",
      WS_NO_UTF_8_VALIDATE: "1",
    },
  });
}

/** A child as a function from question to answer; it rejects when the child fails, ends or hangs. */
export function asking(child, label) {
  const waiting = new Map();
  let nextId = 0;
  let lastWords = "";
  child.stderr?.on("data", (chunk) => {
    lastWords = (lastWords + chunk).slice(-2000);
  });
  child.on("message", ({ id, answer, failure }) => {
    const { resolve, reject, timer } = waiting.get(id) ?? {};
    if (!waiting.delete(id)) return;
    clearTimeout(timer);
    if (failure === undefined) resolve(answer);
    else reject(new Error(failure));
  });
  child.on("close", (code, signal) => {
    const error = new Error(`${label} ended (${signal ?? code}) ${lastWords.trim()}`);
    for (const { reject, timer } of waiting.values()) {
      clearTimeout(timer);
      reject(error);
    }
    waiting.clear();
  });
  return (type, content = {}, timeoutMs = 20_000) =>
    new Promise((resolve, reject) => {
      if (!child.connected) return reject(new Error(`${label} is gone ${lastWords.trim()}`));
      const id = nextId++;
      const timer = setTimeout(() => {
        waiting.delete(id);
        reject(new Error(`${label} did not answer "${type}" within ${timeoutMs / 1000} s`));
      }, timeoutMs);
      waiting.set(id, { resolve, reject, timer });
      child.send({ id, type, ...content });
    });
}

/** The other side of `asking`: answers each question with what the handler of its type returns. */
export function answering(handlers) {
  process.on("message", async ({ id, type, ...content }) => {
    try {
      process.send({ id, answer: await handlers[type](content) });
    } catch (error) {
      process.send({ id, failure: String(error?.message ?? error) });
    }
  });
  process.on("disconnect", () => process.exit());
}

function pinnableCores() {
  // A pinned process sees only its own core, so the first process chooses for all.
  if (process.env.BENCH_CORES === ",") return [];
  if (process.env.BENCH_CORES) return process.env.BENCH_CORES.split(",").map(Number);
  if (process.platform !== "linux" || spawnSync("taskset", ["-V"]).error) return [];
  const list =
    /Cpus_allowed_list:\s*(\S+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  const cores = list.split(",").flatMap((part) => {
    const [first, last = first] = part.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
  return cores.length < 2 ? [] : cores.slice(0, 2);
}
