/** The command line of `npm run bench`. */
import { parseArgs } from "node:util";

export const suiteNames = [
  "in-process",
  "http-server",
  "http-realistic",
  "http-large",
  "http-client",
  "websocket",
  "websocket-client",
  "stdio",
  "streams",
  "nats",
  "security",
  "signing",
  "values",
  "compression",
  "observability",
  "mcp-http",
  "mcp-list",
  "mcp-gateway",
  "a2a-http",
  "mcp-stdio",
  "lsp-stdio",
  "mcp-client",
  "gateway",
  "types",
  "start-up",
  "entries",
];

export const help = `Measures callwire and its peers in one interleaved run, in CPU time per call.

  npm run bench -- [options]

  --only a,b     suites to run: ${suiteNames.join(", ")}
  --cycles N     cycles per suite (default: 12 to 45, as the suite says)
  --starts N     process starts per candidate that share the cycles (default 3)
  --quick        one start, few cycles, under a minute; writes no results
  --full         long memory runs: ten million items of a stream, a million calls of NATS and the gateway
  --node 24      another Node: 22 or 24, as scripts/fetch-peers.mjs fetches them; results go to .cache/bench-node-24
  --out DIR      where results.json, results.md and plot.svg go (default bench/results)
  --strict       exit code 1 when a target is missed or a candidate fails
  --help         this text

A suite that was not run keeps what an earlier run wrote about it.`;

export class UsageError extends Error {}

export function readOptions(args) {
  const { values } = parse(args);
  const only = values.only?.split(",").map((name) => name.trim()) ?? suiteNames;
  const unknown = only.find((name) => !suiteNames.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`there is no suite "${unknown}"; the suites are ${suiteNames.join(", ")}`);
  }
  return {
    help: values.help,
    only: suiteNames.filter((name) => only.includes(name)),
    cycles: count("cycles", values.cycles),
    starts: count("starts", values.starts) ?? (values.quick ? 1 : 3),
    quick: values.quick,
    full: values.full,
    out: values.out,
    strict: values.strict,
  };
}

function parse(args) {
  try {
    return parseArgs({
      args,
      options: {
        only: { type: "string" },
        cycles: { type: "string" },
        starts: { type: "string" },
        quick: { type: "boolean", default: false },
        full: { type: "boolean", default: false },
        out: { type: "string" },
        strict: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error.message);
  }
}

function count(name, text) {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (!(Number.isInteger(number) && number > 0)) {
    throw new UsageError(`--${name} takes a whole number above 0, not "${text}"`);
  }
  return number;
}
