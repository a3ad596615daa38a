// Makes timers late, as on a busy machine: loaded by scripts/stress.mjs.
const latestMs = 40;
const { setTimeout: plain } = globalThis;

// Late by a random time; never early, which no machine is.
globalThis.setTimeout = Object.assign(
  /** @type {any} */ (
    /**
     * @param {(...args: unknown[]) => void} run
     * @param {number} delayMs
     * @param {unknown[]} args
     */
    (run, delayMs = 0, ...args) => plain(run, delayMs + Math.random() * latestMs, ...args)
  ),
  plain,
);
