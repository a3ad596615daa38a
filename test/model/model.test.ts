import { expect, test } from "vitest";
import { isFull } from "../full.ts";
import { testMs } from "../limits.ts";
import { explore, scenarios } from "./explorer.ts";

/** Most actions in a row; `npm run model` goes deeper. */
const depth = isFull ? 9 : 4;

test.each(scenarios)(
  "a connection keeps its guarantees in every order of events: $name",
  { timeout: isFull ? 10 * testMs : testMs },
  async (scenario) => {
    const { states } = await explore(scenario, depth);
    // Differences that hardly ever occur are not explored.
    expect(states).toBeGreaterThan(2 * depth);
  },
);
