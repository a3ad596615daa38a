/** Starts the candidates of a suite, each in its own process, and gives a uniform way to measure them. */
import { asking, start } from "./processes.mjs";

/** Resolves to one entry per candidate: `missing`, `failure`, or `prepare`, `slice` and `ask`. */
export async function openCandidates(suite) {
  return suite.drivenBy === "load" ? openBehindLoad(suite) : openAlone(suite);
}

/** With room for much garbage, because the pauses of the load generator would count as latency of the servers. */
const loadFlags = ["--min-semi-space-size=64", "--max-semi-space-size=64"];

async function openBehindLoad(suite) {
  const child = start("load.mjs", [suite.name], { role: "load", nodeFlags: loadFlags });
  const ask = asking(child, "the load generator");
  const entries = await eachCandidate(suite, async (name) => ({
    ...(await ask("start", { name })),
    ask,
    prepare: (workload) => ask("prepare", { name, workload }),
    slice: (workload, ms) => ask("slice", { name, workload, ms }),
  }));
  return {
    entries,
    close() {
      if (child.connected) child.disconnect();
    },
  };
}

async function openAlone(suite) {
  const children = [];
  const upstream = suite.against && start(suite.against, [], { role: "load" });
  if (upstream) children.push(upstream);
  const argument = upstream && {
    origin: `http://127.0.0.1:${(await asking(upstream, suite.against)("start")).port}`,
  };
  const entries = await eachCandidate(suite, async (name) => {
    const child = start("host.mjs", [suite.name, name], {
      role: "candidate",
      nodeFlags: ["--expose-gc"],
    });
    children.push(child);
    const ask = asking(child, name);
    return {
      ...(await ask("start", { argument })),
      ask,
      prepare: (workload) => ask("prepare", { workload }),
      slice: (workload, ms) => ask("slice", { workload, ms }),
    };
  });
  return {
    entries,
    close() {
      for (const child of children) if (child.connected) child.disconnect();
    },
  };
}

/** One after the other: some peers take a second of CPU to load, and all share a core. */
async function eachCandidate(suite, open) {
  const entries = [];
  for (const name of Object.keys(suite.candidates)) {
    try {
      entries.push({ name, ...(await open(name)) });
    } catch (error) {
      entries.push({ name, failure: error.message });
    }
  }
  return entries;
}
