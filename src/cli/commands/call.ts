import { createClient, type Params } from "callwire";
import { bytesIn, writeBytes } from "../byte-files.ts";
import { explainFailure } from "../call-failure.ts";
import { defineCommand, flag, option } from "../command.ts";
import { targetFrom, timeoutOf } from "../command-arguments.ts";
import { asItIs, declaredCall } from "../declared-types.ts";
import { Failure } from "../failure.ts";
import { linkFromUrl, watchItems } from "../link-from-url.ts";
import { ProgressLine } from "../live-line.ts";
import { aboutParams, paramsFrom } from "../params.ts";
import { stopped, stopSignal } from "../process-end.ts";
import { linkOptionsOf, serverOptions, verboseOption } from "../server-options.ts";
import { jsonLine, jsonView, notice, Terminal } from "../terminal.ts";

export const command = defineCommand({
  usage: "<url> <method> [params] [options]",
  about: aboutParams,
  options: {
    ...serverOptions,
    v1: flag("use JSON-RPC 1.0"),
    ...verboseOption,
    output: option("file", "write the bytes of the result to a file; - is standard output", {
      short: "o",
    }),
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
    const watched = watchItems(link, () => streams.abort());
    const version = flags.v1 ? "1.0" : "2.0";
    const clientOptions = { timeoutMs: timeoutOf(flags.timeout), version } as const;
    await using plain = createClient(watched, clientOptions);
    const wantsRich = flags.output !== undefined;
    if (flags.v1 && wantsRich) throw new Failure("--output needs JSON-RPC 2.0; remove --v1");
    const { params, client, shown } = flags.v1
      ? { params: inOrder(await paramsFrom(words)), client: plain, shown: asItIs }
      : await declaredCall(
          plain,
          { link: watched, clientOptions, method, words },
          { ...options, signal, wantsRich },
        );
    const progress = new ProgressLine();
    const begun = performance.now();
    try {
      const result = await client.call(method, params, {
        signal: AbortSignal.any([signal, streams.signal]),
        onProgress: (value) => progress.report(shown(value)),
      });
      progress.clear();
      if (flags.output !== undefined) {
        await writeBytes(result, flags.output);
        return;
      }
      if (bytesIn(result).length > 0)
        notice("the result has bytes; --output writes them to a file");
      const terminal = new Terminal(process.stdout);
      if (flags.json) terminal.line(jsonLine({ result: shown(result) ?? null }));
      else terminal.line(jsonView(shown(result), terminal));
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
