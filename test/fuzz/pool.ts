import type { Random } from "./random.ts";

/** Most choice sequences to keep; later ones replace random earlier ones. */
const most = 4_096;

/** Inputs that were the first to execute some code, as their choices; changed ones may get further. */
export class Pool {
  readonly #entries: Uint32Array[] = [];
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  get size(): number {
    return this.#entries.length;
  }

  add(choices: Uint32Array): void {
    if (this.#entries.length < most) this.#entries.push(choices);
    else this.#entries[this.#random.below(most)] = choices;
  }

  /** The choices of an entry, with changes. */
  changed(): Uint32Array {
    const random = this.#random;
    let choices: Uint32Array = this.#pick().slice();
    for (let i = random.below(3); i >= 0 && choices.length > 0; i--) {
      const at = random.below(choices.length);
      switch (random.below(5)) {
        case 0:
        case 1:
          choices[at] = random.below(0xffff_ffff);
          break;
        case 2: // a small change reaches the neighbours of an item
          choices[at] = (choices[at] as number) + random.below(5) - 2;
          break;
        case 3: {
          const other = this.#pick();
          const length = random.below(Math.min(other.length, 32) + 1);
          const from = random.below(other.length - length + 1);
          choices = joined(
            choices.subarray(0, at),
            other.subarray(from, from + length),
            choices.subarray(at),
          );
          break;
        }
        default:
          choices = joined(choices.subarray(0, at), choices.subarray(at + 1 + random.below(8)));
      }
    }
    return choices;
  }

  #pick(): Uint32Array {
    return this.#random.pick(this.#entries);
  }
}

/** Concatenates, up to a length that keeps an input small. */
function joined(...parts: readonly Uint32Array[]): Uint32Array {
  const whole = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole.subarray(0, 4_096);
}
