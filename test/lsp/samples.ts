/** Params that the protocol allows, made from its model. */
import { shapes } from "../../src/lsp/model/shapes.ts";
import type { Shape } from "../../src/lsp/shape.ts";

export type Random = (below: number) => number;

/** The same numbers in each run. */
export function randomFrom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A value that a shape allows; deep inside, optional members are left out. */
export function sample(shape: Shape, random: Random, depth = 0): unknown {
  if (typeof shape === "string") {
    if (shape.startsWith("#")) return sample(shapes[shape.slice(1)] as Shape, random, depth + 1);
    return samples[shape]?.(random);
  }
  if (!Array.isArray(shape)) {
    return Object.fromEntries(
      Object.entries(shape as Readonly<Record<string, Shape>>).flatMap(([key, member]) => {
        const isOptional = key.endsWith("?");
        if (isOptional && (depth > 6 || random(2) === 0)) return [];
        return [[isOptional ? key.slice(0, -1) : key, sample(member, random, depth + 1)]];
      }),
    );
  }
  const [kind, ...parts] = shape as [string, ...Shape[]];
  const count = depth > 6 ? 0 : random(3);
  switch (kind) {
    case "=":
      return parts[random(parts.length)];
    case "|":
      return sample(parts[depth > 6 ? 0 : random(parts.length)] as Shape, random, depth + 1);
    case "&":
      return Object.assign({}, ...parts.map((part) => sample(part, random, depth)));
    case "[]":
      return Array.from({ length: count }, () => sample(parts[0] as Shape, random, depth + 1));
    case "()":
      return parts.map((part) => sample(part, random, depth + 1));
    default:
      return Object.fromEntries(
        Array.from({ length: count }, (_, i) => [
          `key${i}`,
          sample(parts[0] as Shape, random, depth + 1),
        ]),
      );
  }
}

const samples: Readonly<Record<string, (random: Random) => unknown>> = {
  any: (random) => [null, 1, "x", { a: [] }][random(4)],
  none: () => undefined,
  null: () => null,
  string: (random) => ["", "text", "🚀"][random(3)],
  boolean: (random) => random(2) === 0,
  decimal: (random) => random(100) / 7,
  integer: (random) => random(100) - 50,
  uinteger: (random) => random(100),
  object: () => ({ a: 1 }),
};
