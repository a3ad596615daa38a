import type { Context } from "../protocol/context.ts";
import type { Request } from "../protocol/message.ts";

/**
 * How calls are spread over the targets of an upstream: in turn, to the one with the fewest calls in
 * progress, or by a key, so that calls with the same key go to the same target as long as it is there.
 */
export type Balance =
  | "round-robin"
  | "least-in-flight"
  | { readonly key: (request: Request, context: Context) => string | undefined };

interface Candidate {
  readonly name: string;
  readonly inFlight: number;
}

/** Chooses among targets that may be called; there is at least one. */
export type Choose = <T extends Candidate>(
  among: readonly T[],
  request: Request,
  context: Context,
) => T;

export function chooser(balance: Balance = "round-robin"): Choose {
  if (balance === "round-robin") return inTurn();
  if (balance === "least-in-flight") return fewestInFlight();
  if (typeof balance?.key !== "function") {
    throw new TypeError(`balance is "round-robin", "least-in-flight" or { key: (request) => … }`);
  }
  const otherwise = inTurn();
  return (among, request, context) => {
    const key = balance.key(request, context);
    return key === undefined ? otherwise(among, request, context) : highestFor(key, among);
  };
}

function inTurn(): Choose {
  let turn = 0;
  return (among) => {
    turn = (turn + 1) % 0x7fffffff;
    return among[turn % among.length] as (typeof among)[number];
  };
}

function fewestInFlight(): Choose {
  const next = inTurn();
  return (among, request, context) => {
    const fewest = Math.min(...among.map(({ inFlight }) => inFlight));
    const idlest = among.filter(({ inFlight }) => inFlight === fewest);
    // In turn among equals, or the first one would get all calls of a quiet hour.
    return next(idlest, request, context);
  };
}

/** Rendezvous hashing: when a target goes, only the keys that it had move. */
function highestFor<T extends Candidate>(key: string, among: readonly T[]): T {
  const weights = among.map(({ name }) => hash(`${key}\n${name}`));
  return among[weights.indexOf(Math.max(...weights))] as T;
}

/** FNV-1a, with its bits mixed once more, since names that differ in the last letter would stay close. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  return (value ^ (value >>> 16)) >>> 0;
}
