// One target in a process of its own, started by scripts/fuzz.mjs.
import { pathToFileURL } from "node:url";

const [bundle = "", blockCount = "", name = "", inputs = "", seed = ""] = process.argv.slice(2);

/** One while the block has not been executed. */
const blocks = new Uint8Array(Number(blockCount)).fill(1);
let isNew = false;
Object.assign(globalThis, {
  fuzzedBlocks: {
    blocks,
    /** @param {number} block */
    reach(block) {
      blocks[block] = 0;
      isNew = true;
    },
  },
});

const { run, targets } = await import(pathToFileURL(bundle).href);
const before = process.cpuUsage();
let told = 0;
const outcome = await run(targets[name], {
  inputs: Number(inputs),
  seed: Number(seed),
  guide: {
    isNew() {
      const was = isNew;
      isNew = false;
      return was;
    },
  },
  /** @param {number} done */
  progress(done) {
    if (Date.now() - told < 1_000) return;
    told = Date.now();
    process.send?.({ done });
  },
});
const { user, system } = process.cpuUsage(before);
const error = outcome.found?.error;
process.send?.(
  {
    outcome: {
      inputs: outcome.inputs,
      reached: outcome.reached,
      found: outcome.found && {
        input: outcome.found.input,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      },
      cpuSeconds: Math.round((user + system) / 1e5) / 10,
      peakMb: Math.round(process.resourceUsage().maxRSS / 1024),
      blocks: [...blocks.keys()].filter((block) => blocks[block] === 0),
    },
  },
  // Servers in memory may have timers.
  () => process.exit(0),
);
