import { expect, test } from "vitest";
import { Random, targets } from "./targets.ts";

test.each(Object.entries(targets))("%s stands random inputs", async (_, { run, briefly }) => {
  const reached = await run(new Random(1), briefly);
  // A part that is never reached is not tested.
  for (const count of Object.values(reached)) expect(count).toBeGreaterThan(briefly / 4);
});
