/** One call after the other through a client and a server, or through a serializer. */
import { isDeepStrictEqual } from "node:util";
import { dated, expected } from "../candidates/values/dated.mjs";
import { repeated } from "./rounds.mjs";

export async function prepare({ keepsDates, ...candidate }, workload) {
  const call = candidate[workload];
  const result = await call();
  const wanted =
    workload === "100 dates" && !keepsDates
      ? JSON.parse(JSON.stringify(dated()))
      : expected[workload];
  if (!isDeepStrictEqual(result, wanted)) throw new Error(`wrong result of ${workload}`);
  return repeated(async (rounds) => {
    for (let i = 0; i < rounds; i++) {
      const answer = call();
      if (answer instanceof Promise) await answer;
    }
  });
}
