/**
 * What an overloaded server still gets done: `npm run overload`, which writes the figures to docs/reliability.md, or
 * `node bench/overload.mjs`, which does so with --save.
 *
 *   npm run overload -- [--seconds 6] [--times 5] [--only tcp,unix,ws,http,sse,stdio,nats,bare]
 *
 * A method takes 1 ms of CPU. The peak is what 32 callers get who each wait for their reply; then five times as many
 * calls are sent, whether or not replies come. Goodput is the calls that succeed within a second of when they were due.
 * On a machine with other work, look at the last column: it compares goodput for each second of CPU that the server got.
 */
import { record } from "../scripts/reliability.mjs";
import { scriptOptions } from "../scripts/script-options.mjs";
import { asking, pinning, start } from "./processes.mjs";

const usage =
  "node bench/overload.mjs [--seconds 6] [--times 5] [--only tcp,unix,ws,http,sse,stdio,nats,bare] [--save]";
const wires = ["tcp", "unix", "ws", "http", "sse", "stdio", "nats", "bare"];
const { seconds, only, times, save } = readOptions();
const figures = [];

console.log(`Node ${process.versions.node}, ${pinning}, ${seconds} s at ${times} times the peak\n`);
console.log(
  "| wire | peak per second | offered | goodput | refused | late or lost | of the peak | by CPU | memory | recovery |",
);
console.log("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
for (const wire of only) console.log(await measured(wire));
if (save) record("overload", { times, seconds, wires: figures });

async function measured(wire) {
  const caller = end("load", `the ${wire} load`);
  const server = wire === "stdio" ? childOf(caller) : end("candidate", `the ${wire} server`);
  const engine = wire === "nats" ? end("load", "nats-server", "nats-server.mjs") : undefined;
  try {
    const nats = (await engine?.ask("start"))?.port;
    const port = await server.ask("serve", { wire, nats });
    await caller.ask("connect", { wire, port });
    await caller.ask("peak", { milliseconds: 1_000 });
    const idleCpu = await server.ask("cpu");
    const peak = (await caller.ask("peak", { milliseconds: 2_000 })) / 2;
    const peakCpu = await server.ask("cpu");
    const perSecond = Math.round(peak * times);
    const milliseconds = seconds * 1_000;
    const run = await caller.ask("flood", { perSecond, milliseconds }, milliseconds + 60_000);
    const floodCpu = (await server.ask("cpu")) - peakCpu;
    const figure = {
      name: wire,
      peak,
      goodput: run.good / seconds,
      share: run.good / seconds / peak,
      shareByCpu: run.good / floodCpu / ((2 * peak) / (peakCpu - idleCpu)),
      peakBytes: await server.ask("mostBytes"),
      recoveryMs: run.recoveryMs,
    };
    figures.push(figure);
    const rate = (count) => Math.round(count / seconds).toLocaleString("en");
    const percent = (share) => `${Math.round(share * 100)} %`;
    const cells = [
      wire,
      Math.round(peak),
      rate(run.sent),
      rate(run.good),
      rate(run.refused),
      rate(run.sent - run.good - run.refused),
      percent(figure.share),
      percent(figure.shareByCpu),
      `${Math.round(figure.peakBytes / 1e6)} MB`,
      `${Math.round(figure.recoveryMs)} ms`,
    ];
    return `| ${cells.join(" | ")} |`;
  } finally {
    for (const each of [server, caller, engine]) {
      if (each?.child?.connected) each.child.disconnect();
    }
  }
}

function end(role, label, file = "overload-end.mjs") {
  const child = start(file, [], { role });
  return { child, ask: asking(child, label) };
}

/** A server on stdio, which the load starts. */
function childOf({ ask }) {
  return { ask: (question, content) => ask("ofServer", { question, content }) };
}

function readOptions() {
  const { values } = scriptOptions(import.meta.url, {
    options: {
      seconds: { type: "string", default: "6" },
      times: { type: "string", default: "5" },
      only: { type: "string", default: wires.join() },
      save: { type: "boolean", default: false },
    },
  });
  const chosen = values.only.split(",");
  const numbers = [values.seconds, values.times].map(Number);
  if (!numbers.every((number) => number > 0) || !chosen.every((name) => wires.includes(name))) {
    console.error(usage);
    process.exit(2);
  }
  return { seconds: Math.min(numbers[0], 15), times: numbers[1], only: chosen, save: values.save };
}
