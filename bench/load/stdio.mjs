/** The standard input and output of the candidate's own process. */
import { dialects } from "./dialect.mjs";
import { contentLength, newline } from "./framing.mjs";
import { createWindow, inFlightOf } from "./window.mjs";

const framings = { newline, "content-length": contentLength };

export async function connect({ framing }, child) {
  const exchange = createWindow({
    input: child.stdout,
    output: child.stdin,
    framing: framings[framing],
    dialect: dialects["json-rpc"](),
  });
  return {
    async prepare(workload) {
      await exchange(inFlightOf(workload), 0);
      return (ms) => exchange(inFlightOf(workload), ms);
    },
  };
}
