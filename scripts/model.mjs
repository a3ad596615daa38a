// Explores what can happen between a client and a server, against the real code: `npm run model`. A scenario is an entry
// of test/model/scenario.ts; `npm test` explores few actions of each. Those that are not named keep their figures.
//
//   npm run model -- [--depth 12] [--seconds 600] [scenarios …]
import { loadTypeScript } from "./load-typescript.mjs";
import { record } from "./reliability.mjs";
import { scriptOptions } from "./script-options.mjs";

const { values: flags, positionals } = scriptOptions(import.meta.url, {
  allowPositionals: true,
  options: {
    depth: { type: "string", default: "12" },
    seconds: { type: "string", default: "600" },
    save: { type: "boolean", default: true },
  },
  allowNegative: true,
});
const mostActions = Number(flags.depth);
const mostSeconds = Number(flags.seconds);
if (!(mostActions > 0) || !(mostSeconds > 0)) fail("--depth and --seconds must be numbers above 0");
/** @type {typeof import("../test/model/explorer.ts")} */
const { explore, scenarios } = await loadTypeScript(
  new URL("../test/model/explorer.ts", import.meta.url),
);
for (const name of positionals) {
  if (scenarios.every((each) => each.name !== name))
    fail(`"${name}" is not a scenario; they are:\n${scenarios.map(({ name }) => name).join("\n")}`);
}

/** @type {{ name: string, depth: number, sequences: number, states: number, actions: number, seconds: number }[]} */
const explored = [];
for (const scenario of scenarios) {
  if (positionals.length > 0 && !positionals.includes(scenario.name)) continue;
  // Each bound takes about twice as long as the one before, so that the last one that fits is found by trying.
  const started = process.hrtime.bigint();
  const seconds = () => Number(process.hrtime.bigint() - started) / 1e9;
  let shown = 0;
  for (let depth = Math.min(8, mostActions); depth <= mostActions; depth++) {
    const until = seconds();
    const found = await explore(scenario, depth, ({ sequences, states }) => {
      if (seconds() < shown + 10) return;
      shown = seconds();
      console.log(`  ${sequences} sequences, ${states} states, ${Math.round(shown)} s`);
    });
    const took = seconds() - until;
    const entry = { name: scenario.name, depth, ...found, seconds: Math.round(seconds()) };
    if (explored.at(-1)?.name === scenario.name) explored.pop();
    explored.push(entry);
    console.log(
      `${scenario.name}: every order of ${depth} actions, ${found.sequences} sequences, ${found.states} states, no failure in ${Math.round(took)} s`,
    );
    if (seconds() + 2 * took > mostSeconds / scenarios.length) break;
  }
}
if (flags.save) record("model", { scenarios: explored });

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(message);
  process.exit(1);
}
