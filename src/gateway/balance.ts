import type { Context } from "../protocol/context.ts";
import type { Request } from "../protocol/message.ts";
import { stringHash } from "../protocol/string-hash.ts";

/**
 * How calls are spread over the targets of an upstream: in turn, to the one with the fewest calls in
 * progress, or by a key: calls with the same key go to the same target while it is available.
 */
export type Balance =
  | "round-robin"
  | "least-in-flight"
  | { readonly key: (request: Request, context: Context) => string | undefined };

interface Candidate {
  readonly name: string;
  readonly inFlight: number;
}

/** Chooses one of the available targets; there is at least one. */
export type Choose = <T extends Candidate>(
  among: readonly T[],
  request: Request,
  context: Context,
) => T;

export function chooser(balance: Balance = "round-robin"): Choose {
  if (balance === "round-robin") return inTurn();
  if (balance === "least-in-flight") return fewestInFlight();
  if (typeof balance?.key !== "function") {
    throw new TypeError(
      `balance must be "round-robin", "least-in-flight" or { key: (request) => … }`,
    );
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
    // Round-robin among equals, or the first target would get every call while traffic is low.
    return next(idlest, request, context);
  };
}

/** Rendezvous hashing: when a target goes away, only its own keys move. */
function highestFor<T extends Candidate>(key: string, among: readonly T[]): T {
  const weights = among.map(({ name }) => hash(`${key}\n${name}`));
  return among[weights.indexOf(Math.max(...weights))] as T;
}

/** With a final mix, because names that differ in the last letter would get similar hashes. */
function hash(text: string): number {
  let value = stringHash(text);
  value = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  return (value ^ (value >>> 16)) >>> 0;
}
