import { createClient, type Params } from "callwire";
import { explainFailure } from "../call-failure.ts";
import { defineCommand, flag } from "../command.ts";
import { targetFrom, timeoutOf } from "../command-arguments.ts";
import { declaredParams } from "../declared-types.ts";
import { Failure } from "../failure.ts";
import { linkFromUrl, watchItems } from "../link-from-url.ts";
import { ProgressLine } from "../live-line.ts";
import { aboutParams, paramsFrom } from "../params.ts";
import { stopped, stopSignal } from "../process-end.ts";
import { linkOptionsOf, serverOptions, verboseOption } from "../server-options.ts";
import { jsonLine, jsonView, Terminal } from "../terminal.ts";

export const command = defineCommand({
  usage: "<url> <method> [params] [options]",
  about: aboutParams,
  options: {
    ...serverOptions,
    v1: flag("use JSON-RPC 1.0"),
    ...verboseOption,
    json: flag('print {"result":…} or {"error":…} on one line'),
  },
  examples: [
    ["callwire call http://localhost:8000/rpc math/add a=2 b=3", "params by name"],
    ["callwire call http://localhost:8000/rpc add 2 3", "params by position"],
    [`callwire call ws://localhost:8000/rpc/ws echo '{"message":{"a":[1]}}'`, "params as JSON"],
    ["echo '[2,3]' | callwire call http://localhost:8000/rpc add - --verbose", "params from stdin"],
    ["callwire call http://localhost:8000/rpc slow/work ms=2000", "progress on a terminal"],
    ["callwire call http://localhost:8000/jsonrpc add 2 3 --v1", "in JSON-RPC 1.0"],
    ['callwire call "stdio:callwire demo --stdio" add 2 3', "a program"],
  ],
  async run(flags, positionals) {
    const { url, method, words } = targetFrom("call", positionals);
    const signal = stopSignal();
    const options = linkOptionsOf(flags);
    const { headers } = options;
    const link = await linkFromUrl(url, options);
    const streams = new AbortController();
    await using client = createClient(
      watchItems(link, () => streams.abort()),
      { timeoutMs: timeoutOf(flags.timeout), version: flags.v1 ? "1.0" : "2.0" },
    );
    const params = flags.v1
      ? inOrder(await paramsFrom(words))
      : await declaredParams(client, method, words, { ...options, signal });
    const progress = new ProgressLine();
    const begun = performance.now();
    try {
      const result = await client.call(method, params, {
        signal: AbortSignal.any([signal, streams.signal]),
        onProgress: (value) => progress.report(value),
      });
      progress.clear();
      const terminal = new Terminal(process.stdout);
      if (flags.json) terminal.line(jsonLine({ result: result ?? null }));
      else terminal.line(jsonView(result, terminal));
    } catch (error) {
      progress.clear();
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      if (signal.aborted) throw stopped(`${method} was cancelled after ${seconds} s`, error);
      if (streams.signal.aborted) {
        throw new Failure(`${method} is a stream; use "callwire stream"`, { cause: error });
      }
      throw await explainFailure({ url, method, headers, client, signal }, error);
    }
  },
});

function inOrder(params: Params = []): Params {
  if (Array.isArray(params)) return params;
  throw new Failure("named params do not exist in JSON-RPC 1.0; pass an array such as [2,3]");
}
