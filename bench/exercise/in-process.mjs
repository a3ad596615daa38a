/** Text to text, one call after the other, in the candidate's own process. */
import { isDeepStrictEqual } from "node:util";
import { workloads } from "../workloads.mjs";
import { repeated } from "./rounds.mjs";

export async function prepare(receive, name) {
  const synchronous = typeof receive(workloads[name][0].text) === "string";
  const exchanges = [];
  for (const { text, reply } of workloads[name]) {
    const expected = await receive(text);
    if (!isDeepStrictEqual(JSON.parse(expected), reply)) {
      throw new Error(`wrong reply to ${name}: ${expected.slice(0, 200)}`);
    }
    exchanges.push({ text, expected });
  }
  const repeat = synchronous ? repeatSynchronously : repeatAsynchronously;
  const run = repeated((rounds) => repeat(receive, exchanges, rounds));
  return async (ms) => (await run(ms)) * exchanges.length;
}

// Each reply is compared, which also flattens a concatenated string as writing it to a wire would.
function repeatSynchronously(receive, exchanges, rounds) {
  for (let round = 0; round < rounds; round++) {
    for (const { text, expected } of exchanges) {
      if (receive(text) !== expected) throw new Error("a reply changed");
    }
  }
}

async function repeatAsynchronously(receive, exchanges, rounds) {
  for (let round = 0; round < rounds; round++) {
    for (const { text, expected } of exchanges) {
      if ((await receive(text)) !== expected) throw new Error("a reply changed");
    }
  }
}
