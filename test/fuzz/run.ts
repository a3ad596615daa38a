import { Pool } from "./pool.ts";
import { Random } from "./random.ts";
import type { FuzzTarget } from "./target.ts";

/** Says whether the last input executed code for the first time. */
export interface Guide {
  isNew(): boolean;
}

export interface Found {
  readonly input: unknown;
  readonly error: unknown;
}

export interface RunOptions {
  readonly seed: number;
  readonly inputs: number;
  /** Without one, inputs do not build on each other. */
  readonly guide?: Guide | undefined;
  /** Called now and then. */
  readonly progress?: (done: number) => void;
}

export interface RunOutcome {
  readonly inputs: number;
  /** How many inputs reached each outcome. */
  readonly reached: Readonly<Record<string, number>>;
  /** The first failure, minimised. */
  readonly found: Found | undefined;
}

/** Inputs between two turns of the event loop, in which Node reports unhandled rejections. */
const turnInputs = 256;
/** A check that takes longer than this hangs. */
const hangMs = 20_000;
const minimiseChecks = 2_000;

/** Feeds random inputs to a target until one fails. */
export async function run(target: FuzzTarget, options: RunOptions): Promise<RunOutcome> {
  const strays = new Strays();
  const running = new Run(target, options, strays);
  try {
    return await running.outcome();
  } finally {
    strays.close();
  }
}

class Run {
  readonly #target: FuzzTarget;
  readonly #options: RunOptions;
  readonly #strays: Strays;
  readonly #random: Random;
  readonly #pool: Pool;
  readonly #reached: Record<string, number> = {};
  #done = 0;

  constructor(target: FuzzTarget, options: RunOptions, strays: Strays) {
    this.#target = target;
    this.#options = options;
    this.#strays = strays;
    this.#random = new Random(options.seed);
    this.#pool = new Pool(new Random(options.seed));
  }

  async outcome(): Promise<RunOutcome> {
    const { inputs, progress } = this.#options;
    let found: Found | undefined;
    while (this.#done < inputs && found === undefined) {
      found = await this.#turn(Math.min(turnInputs, inputs - this.#done));
      progress?.(this.#done);
    }
    return { inputs: this.#done, reached: this.#reached, found };
  }

  /** Checks some inputs, and what they leave behind. */
  async #turn(count: number): Promise<Found | undefined> {
    const { atOnce = 1 } = this.#target;
    const checked: unknown[] = [];
    for (let i = 0; i < count; i += atOnce) {
      const failed =
        atOnce === 1
          ? await this.#checkNext(checked)
          : await this.#checkTogether(checked, Math.min(atOnce, count - i));
      if (failed !== undefined) return failed;
    }
    await nextTurn();
    const stray = this.#strays.take();
    return stray === undefined ? undefined : this.#originOf(checked, stray);
  }

  async #checkNext(checked: unknown[]): Promise<Found | undefined> {
    const input = this.#generate();
    checked.push(input);
    try {
      const reached = this.#target.check(input);
      this.#count(typeof reached === "string" ? reached : await withinLimit(reached));
    } catch (error) {
      return this.#minimised(this.#random.choices, { input, error });
    }
    if (this.#options.guide?.isNew()) this.#pool.add(this.#random.choices);
    return undefined;
  }

  async #checkTogether(checked: unknown[], count: number): Promise<Found | undefined> {
    const all = Array.from({ length: count }, async () => {
      const input = this.#generate();
      const { choices } = this.#random;
      checked.push(input);
      try {
        this.#count(await withinLimit(this.#target.check(input)));
        return undefined;
      } catch (error) {
        return { choices, found: { input, error } };
      }
    });
    const failed = (await Promise.all(all)).find((each) => each !== undefined);
    return failed && this.#minimised(failed.choices, failed.found);
  }

  #generate(): unknown {
    const seed = this.#options.seed + this.#done++;
    const isChanged = this.#pool.size > 0 && seed % 2 === 0;
    this.#random.restart(seed, isChanged ? this.#pool.changed() : undefined);
    return this.#target.generate(this.#random);
  }

  #count(reached: string): void {
    this.#reached[reached] = (this.#reached[reached] ?? 0) + 1;
  }

  /** Leaves out and lowers choices as long as the input still fails. */
  async #minimised(choices: Uint32Array, found: Found): Promise<Found> {
    // Each further try would take as long.
    if (found.error instanceof Hang) return found;
    let best = { choices, found };
    let left = minimiseChecks;
    const fails = async (fewer: Uint32Array): Promise<boolean> => {
      if (left-- <= 0) return false;
      const random = new Random(0);
      random.restart(0, fewer, 256);
      const input = this.#target.generate(random);
      if (JSON.stringify(input).length > JSON.stringify(best.found.input).length) return false;
      const error = await this.#errorOf(input);
      if (error === undefined) return false;
      best = { choices: fewer, found: { input, error } };
      return true;
    };
    for (let size = choices.length; size >= 1; size = Math.floor(size / 2)) {
      for (let at = 0; at < best.choices.length; ) {
        const now = best.choices;
        const without = Uint32Array.from([...now.subarray(0, at), ...now.subarray(at + size)]);
        if (!(await fails(without))) at += size;
      }
    }
    for (let at = 0; at < best.choices.length; at++) {
      for (const lower of [0, 1, (best.choices[at] as number) >> 1]) {
        if (lower < (best.choices[at] as number)) await fails(best.choices.with(at, lower));
      }
    }
    return best.found;
  }

  async #errorOf(input: unknown): Promise<unknown> {
    try {
      await withinLimit(this.#target.check(input));
      return undefined;
    } catch (error) {
      return error ?? new Error("undefined was thrown");
    }
  }

  /** Finds the input that caused what Node reported after several. */
  async #originOf(inputs: readonly unknown[], stray: unknown): Promise<Found> {
    for (const input of inputs) {
      await this.#errorOf(input);
      await nextTurn();
      const error = this.#strays.take();
      if (error !== undefined) return { input, error };
    }
    return { input: inputs, error: stray };
  }
}

/** Errors that reach no caller, and members of prototypes that an input added. */
class Strays {
  readonly #names = Object.getOwnPropertyNames(Object.prototype).length;
  readonly #errors: unknown[] = [];
  readonly #keep = (error: unknown): void => void this.#errors.push(error);

  constructor() {
    process.on("unhandledRejection", this.#keep);
    process.on("uncaughtException", this.#keep);
  }

  take(): unknown {
    if (Object.getOwnPropertyNames(Object.prototype).length !== this.#names) {
      return new Error("Object.prototype has a new member");
    }
    return this.#errors.splice(0)[0];
  }

  close(): void {
    process.off("unhandledRejection", this.#keep);
    process.off("uncaughtException", this.#keep);
  }
}

class Hang extends Error {}

async function withinLimit<Value>(value: Value | Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Hang(`not settled within ${hangMs} ms`)), hangMs);
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
