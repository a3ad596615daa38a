/**
 * How throughput grows with workers on NATS: `node bench/scale.mjs [--seconds 3]`. Each worker and each
 * caller is a process of its own; the table says what a call costs each of them and nats-server, since on
 * few cores the sum of these is the limit and not the number of workers.
 */
import { fork, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { asking } from "./processes.mjs";

const usage = "node bench/scale.mjs [--seconds 3]: how throughput grows with workers on NATS";
const milliseconds = readSeconds() * 1000;
const ticksPerSecond = Number(spawnSync("getconf", ["CLK_TCK"], { encoding: "utf8" }).stdout);

let runs = 0;
const nats = start("nats-server.mjs");
const { port, pid } = await nats.ask("start");
console.log(
  `Node ${process.versions.node}, ${availableParallelism()} cores of ${cpus()[0]?.model}\n`,
);
console.log(
  "| work per call | workers | calls per second | µs CPU caller | nats-server | worker |",
);
console.log("| --- | ---: | ---: | ---: | ---: | ---: |");
for (const work of ["add", "250 µs of CPU", "5 ms of waiting"]) {
  for (const count of [1, 2, 4]) console.log(await measured(work, count));
}
nats.child.disconnect();

async function measured(work, count) {
  const subject = `scale.run${++runs}`;
  const workers = Array.from({ length: count }, () => start("scale-end.mjs"));
  for (const { ask } of workers) await ask("serve", { port, subject, work });
  const callers = Array.from({ length: 2 }, () => start("scale-end.mjs"));
  for (const { ask } of callers) await ask("connect", { port, subject });
  const all = (ends, type, content) => Promise.all(ends.map(({ ask }) => ask(type, content)));
  await all(callers, "load", { milliseconds: 1000 });
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const spent = async () => ({
    callers: sum(await all(callers, "cpu")),
    nats: natsMicros(),
    workers: sum(await all(workers, "cpu")),
  });
  const before = await spent();
  const calls = sum(await all(callers, "load", { milliseconds }));
  const after = await spent();
  for (const { child } of [...workers, ...callers]) child.disconnect();
  const per = (name) => ((after[name] - before[name]) / calls).toFixed(1);
  const rate = Math.round(calls / (milliseconds / 1000)).toLocaleString("en");
  return `| ${work} | ${count} | ${rate} | ${per("callers")} | ${per("nats")} | ${per("workers")} |`;
}

/** The CPU time of nats-server, from Linux. */
function natsMicros() {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1e6;
}

function start(file) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)));
  return { child, ask: asking(child, file) };
}

function readSeconds() {
  try {
    const { values } = parseArgs({
      options: { seconds: { type: "string", default: "3" }, help: { type: "boolean" } },
    });
    const seconds = Number(values.seconds);
    if (!(seconds > 0)) throw new Error(`--seconds takes a number, not "${values.seconds}"`);
    if (!values.help) return seconds;
    console.log(usage);
    process.exit();
  } catch (error) {
    console.error(`${error.message}\n\n${usage}`);
    process.exit(2);
  }
}
