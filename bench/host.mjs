/** One candidate in a process of its own: `host.mjs <suite> <candidate>`. */
import { memoryNow } from "./memory.mjs";
import { answering } from "./processes.mjs";

const [suite, name] = process.argv.slice(2);
const selfDriven = new Set([
  "in-process",
  "http-client",
  "websocket-client",
  "start-up",
  "entries",
  "mcp-client",
  "streams",
  "signing",
  "values",
  "nats",
  "types",
]);
/** Suites that share an exercise. */
const exercises = { "websocket-client": "http-client" };
const runs = new Map();
let candidate;
let exercise;

answering({
  async start({ argument }) {
    try {
      const module = await import(`./candidates/${suite}/${name}.mjs`);
      candidate = await module.default(argument);
    } catch (error) {
      if (isMissing(error)) return { missing: "not built yet" };
      throw error;
    }
    if (selfDriven.has(suite)) {
      exercise = await import(`./exercise/${exercises[suite] ?? suite}.mjs`);
      return {};
    }
    return candidate;
  },

  async prepare({ workload }) {
    runs.set(workload, await exercise.prepare(candidate, workload));
  },

  async slice({ workload, ms }) {
    const run = runs.get(workload);
    const before = process.cpuUsage();
    const done = await run(ms);
    // Work in a child process does not count towards the usage of this one, so its exercise reports
    // it.
    if (typeof done === "object") return done;
    return { calls: done, cpuMicros: total(process.cpuUsage(before)) };
  },

  cpu: () => total(process.cpuUsage()),

  memoryNow,

  memory: (content) => exercise.memory(candidate, content),
});

function total({ user, system }) {
  return user + system;
}

/** A part of callwire that does not exist or is not built yet is not a failure of the benchmark. */
function isMissing(error) {
  if (!name.startsWith("callwire")) return false;
  return (
    error.code === "ERR_MODULE_NOT_FOUND" ||
    error.code === "ERR_PACKAGE_PATH_NOT_EXPORTED" ||
    /does not provide an export named/.test(error.message)
  );
}
