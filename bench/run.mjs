/** `npm run bench`: measures the suites, prints their tables, judges the targets, writes the results. */
import { environment } from "./environment.mjs";
import { help, readOptions, UsageError } from "./options.mjs";
import { plot } from "./plot.mjs";
import { clearProgress, showProgress } from "./progress.mjs";
import { readResults, resultsFolder, writeResults } from "./results.mjs";
import { writeSpeedTable } from "./speed-table.mjs";
import { runSuite } from "./suite.mjs";
import { markdown, terminal } from "./table.mjs";

try {
  await main(readOptions(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`bench: ${error.message}`);
  process.exitCode = 2;
}

async function main(options) {
  if (options.help) return console.log(help);
  const measured = new Map();
  const startedAt = performance.now();
  const here = environment();
  console.log(`${here.node}, ${here.cpu}, ${here.pinning}, load average ${here.loadAverage}\n`);
  for (const name of options.only) {
    const { default: suite } = await import(`./suites/${name}.mjs`);
    const result = await runSuite(suite, options, showProgress);
    clearProgress();
    measured.set(name, { ...result, environment: here });
    console.log(`${terminal(result)}\n`);
  }
  console.log(verdict([...measured.values()], performance.now() - startedAt));
  if (!options.quick || options.out !== undefined) {
    const folder = resultsFolder(options.out);
    const suites = readResults(folder, measured);
    writeResults(folder, { suites, markdown: markdown(suites), plot: plot(suites) });
    if (options.out === undefined) writeSpeedTable(suites);
    console.log(`results.json, results.md and plot.svg are in ${folder}`);
  }
  const all = [...measured.values()];
  const troubled = all.some(
    ({ targets, rows }) => targets.some(({ passed }) => !passed) || rows.some((row) => row.note),
  );
  if (options.strict && troubled) process.exitCode = 1;
}

function verdict(suites, elapsedMs) {
  const targets = suites.flatMap((suite) => suite.targets);
  const passed = targets.filter((target) => target.passed === true).length;
  const missed = targets.filter((target) => target.passed === false);
  const unmeasured = targets.length - passed - missed.length;
  const lines = [
    `${passed} targets met, ${missed.length} missed, ${unmeasured} not measured, ${Math.round(elapsedMs / 1000)} s`,
  ];
  return [...lines, ...missed.map(({ text }) => `  missed: ${text}`)].join("\n");
}
