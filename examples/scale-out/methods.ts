import { method } from "callwire";
import { z } from "zod";

/** The methods of each worker. */
export function methodsOf(worker: string) {
  return {
    primes: method(
      {
        summary: "Count the primes below a number",
        params: z.object({ below: z.number().int().max(1_000_000) }),
        result: z.object({ primes: z.number(), worker: z.string() }),
        idempotent: true,
      },
      ({ below }) => ({ primes: countPrimes(below), worker }),
    ),
  };
}

function countPrimes(below: number): number {
  const composite = new Uint8Array(Math.max(2, below));
  let primes = 0;
  for (let n = 2; n < below; n++) {
    if (composite[n] === 1) continue;
    primes++;
    for (let multiple = n * n; multiple < below; multiple += n) composite[multiple] = 1;
  }
  return primes;
}
