/** The load generator: starts the candidates of a suite, loads one at a time and reads its CPU. */
import { memoryOverCalls } from "./memory.mjs";
import { answering, asking, start } from "./processes.mjs";
import { memoryOfSessions } from "./sessions.mjs";

const [suite] = process.argv.slice(2);
const { connect } = await import(`./load/${suite}.mjs`);
const candidates = new Map();

answering({
  async start({ name }) {
    const overStdio = suite.endsWith("stdio");
    const child = start("host.mjs", [suite, name], {
      role: "candidate",
      nodeFlags: ["--expose-gc"],
      stdio: [overStdio ? "pipe" : "ignore", overStdio ? "pipe" : "ignore", "pipe", "ipc"],
    });
    const ask = asking(child, name);
    const served = await ask("start");
    if (served.missing) return served;
    const connection = await connect(served, child);
    candidates.set(name, { ask, served, connection, runs: new Map() });
    return {};
  },

  async prepare({ name, workload }) {
    const { connection, runs } = candidates.get(name);
    const run = await connection.prepare(workload);
    runs.set(workload, run);
    return { bytes: run.bytes };
  },

  async slice({ name, workload, ms }) {
    const { ask, connection, runs } = candidates.get(name);
    await connection.ready?.();
    const before = await ask("cpu");
    const done = await runs.get(workload)(ms);
    const cpuMicros = (await ask("cpu")) - before;
    // Some also report how long calls took.
    return typeof done === "number" ? { calls: done, cpuMicros } : { ...done, cpuMicros };
  },

  async memory({ name, items, workload }) {
    const { ask, connection, runs } = candidates.get(name);
    const run = async (ms) => {
      await connection.ready?.();
      return runs.get(workload)(ms);
    };
    return memoryOverCalls(run, (content) => ask("memoryNow", content), items);
  },

  sessions({ name, count }) {
    const { ask, served } = candidates.get(name);
    return memoryOfSessions(served, (content) => ask("memoryNow", content), count);
  },
});
