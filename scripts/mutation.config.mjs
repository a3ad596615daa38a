// Runs tests in one process, which tries the mutants of a plan: see scripts/mutate.mjs.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import base from "../vitest.config.ts";
import { mutate } from "./mutants.mjs";
import { readPlan } from "./mutation-plan.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const { sources, tests } = readPlan();
const sourceAt = new Map(sources.map((source) => [root + source.file, source]));
const { projects: _, ...settings } = base.test ?? {};

/** The tests in the order of the plan. */
class InOrder {
  /** @template {{ moduleId: string }} T @param {T[]} specifications */
  sort(specifications) {
    /** @param {T} specification */
    const place = ({ moduleId }) => tests.indexOf(moduleId.slice(root.length));
    return specifications.sort((a, b) => place(a) - place(b));
  }

  /** @template T @param {T} specifications */
  shard(specifications) {
    return specifications;
  }
}

export default {
  ...base,
  root,
  plugins: [
    ...(base.plugins ?? []),
    {
      name: "mutants",
      enforce: /** @type {const} */ ("pre"),
      /** @param {string} _code @param {string} id */
      transform(_code, id) {
        const source = sourceAt.get(id);
        if (source === undefined) return null;
        const { code } = mutate(source.file, readFileSync(id, "utf8"), source.first);
        return { code, map: null };
      },
    },
  ],
  test: {
    ...settings,
    include: tests,
    isolate: false,
    maxWorkers: 1,
    runner: fileURLToPath(new URL("./mutation-runner.mjs", import.meta.url)),
    sequence: { sequencer: InOrder },
    silent: true,
  },
};
