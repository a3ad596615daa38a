/**
 * Two HTTP workers beside one, for a method that takes 1 ms of CPU: `node bench/workers.mjs [--cycles 9]`. Both servers
 * are loaded in turns, and each turn gives a ratio. The load takes a part of the two cores as well.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import { keepInFlight } from "./exercise/in-flight.mjs";

const usage = "node bench/workers.mjs [--cycles 9]: two HTTP workers beside one";
const inFlight = 32;
const sliceMs = 1_000;
const least = 1.85;

const cycles = readCycles();
console.log(
  `Node ${process.versions.node}, ${availableParallelism()} cores, load ${loadavg()[0].toFixed(1)}`,
);
const one = await started(1);
const two = await started(2);
for (const { load } of [one, two]) await load();
const ratios = [];
for (let i = 0; i < cycles; i++) {
  const [rateOfOne, rateOfTwo] = [await one.load(), await two.load()];
  ratios.push(rateOfTwo / rateOfOne);
  console.log(`${rateOfOne.toFixed(0)} and ${rateOfTwo.toFixed(0)} calls per second`);
}
for (const { close } of [one, two]) await close();
ratios.sort((a, b) => a - b);
const at = (part) => ratios[Math.floor((ratios.length - 1) * part)].toFixed(2);
console.log(
  `two workers: ${at(0.5)} times one (quartiles ${at(0.25)} to ${at(0.75)}), at least ${least} wanted`,
);
process.exitCode = Number(at(0.5)) >= least ? 0 : 1;

async function started(workers) {
  const file = fileURLToPath(new URL("workers-end.mjs", import.meta.url));
  const child = spawn(process.execPath, [file, `${workers}`], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [port] = await once(child.stdout, "data");
  const client = createClient(httpLink(`http://127.0.0.1:${Number(port)}/rpc`));
  return {
    async load() {
      const calls = await keepInFlight(inFlight, sliceMs, async (a) => {
        if ((await client.call("work", [a, 2])) !== a + 2) throw new Error("wrong sum");
      });
      return (calls * 1_000) / sliceMs;
    },
    async close() {
      await client.close();
      child.stdin.end();
      await once(child, "exit");
    },
  };
}

function readCycles() {
  try {
    const { values } = parseArgs({
      options: { cycles: { type: "string", default: "9" }, help: { type: "boolean" } },
    });
    const cycles = Number(values.cycles);
    if (!(cycles >= 1)) throw new Error(`--cycles takes a number, not "${values.cycles}"`);
    if (!values.help) return cycles;
    console.log(usage);
    process.exit();
  } catch (error) {
    console.error(`${error.message}\n\n${usage}`);
    process.exit(2);
  }
}
