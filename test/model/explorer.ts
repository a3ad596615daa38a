import { withFakeTime } from "./fake-time.ts";
import type { Scenario } from "./scenario.ts";
import { World } from "./world.ts";

export { scenarios } from "./scenario.ts";

export interface Explored {
  /** Sequences of actions that were run to their end. */
  sequences: number;
  /** Different states that they reached. */
  states: number;
  actions: number;
}

/**
 * Runs every sequence of up to `depth` actions against the real code, each time from the start, and
 * after each lets everything finish. A state that was explored before, with as many actions left,
 * is not explored again.
 */
export async function explore(
  scenario: Scenario,
  depth: number,
  progress: (explored: Explored) => void = () => {},
): Promise<Explored> {
  const explored: Explored = { sequences: 0, states: 0, actions: 0 };
  /** The most actions that were left when a state was explored. */
  const seen = new Map<string, number>();
  const path: { readonly choices: readonly string[]; at: number }[] = [];
  for (;;) {
    await inWorld(scenario, async (world, act) => {
      for (const { choices, at } of path) await act(choices[at] as string);
      while (path.length < depth) {
        const state = world.fingerprint();
        const left = depth - path.length;
        if ((seen.get(state) ?? 0) >= left) break;
        seen.set(state, left);
        const choices = world.actions();
        if (choices[0] === undefined) break;
        path.push({ choices, at: 0 });
        await act(choices[0]);
      }
      explored.actions += path.length;
    });
    explored.sequences++;
    explored.states = seen.size;
    progress(explored);
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      if (++last.at < last.choices.length) break;
      path.pop();
    }
    if (path.length === 0) return explored;
  }
}

/** Runs one sequence, such as one that failed before. */
export function replay(scenario: Scenario, actions: readonly string[]): Promise<void> {
  return inWorld(scenario, async (_, act) => {
    for (const action of actions) await act(action);
  });
}

async function inWorld(
  scenario: Scenario,
  run: (world: World, act: (action: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const done: string[] = [];
  await withFakeTime(async (clock) => {
    const world = new World(scenario, clock);
    try {
      await run(world, (action) => {
        done.push(action);
        return world.act(action);
      });
      await world.end();
    } catch (error) {
      throw new Error(`${scenario.name}: ${(error as Error).message}, after: ${done.join(", ")}`, {
        cause: error,
      });
    }
  });
}
