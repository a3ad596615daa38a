import { once } from "node:events";
import { createClient, RpcError } from "callwire";
import { callFailure } from "../call-failure.ts";
import { command } from "../command.ts";
import { Failure } from "../failure.ts";
import { jsonLine } from "../json-view.ts";
import { linkFromUrl } from "../link-from-url.ts";
import { aboutParams, paramsFrom } from "../params.ts";
import { linkOptionsOf, serverOptions, timeoutOf, verboseOption } from "../server-options.ts";
import { stopSignal } from "../stop.ts";
import { targetFrom } from "../target.ts";

const { timeout: _, ...reaching } = serverOptions;

export const stream = command({
  usage: "<url> <method> [params] [options]",
  about: aboutParams,
  options: {
    ...reaching,
    timeout: {
      type: "string",
      value: "ms",
      description: "end the stream after so long (default: never)",
    },
    ...verboseOption,
  },
  examples: [
    ["callwire stream http://localhost:8000/rpc math/count to=3", "a line of JSON for each item"],
    [
      'callwire stream ws://localhost:8000/rpc/ws paritosh/stream message="hello there"',
      "as they come; Ctrl-C cancels",
    ],
    ["callwire stream http://localhost:8000/rpc math/count to=100000 | head -3", "the first three"],
  ],
  async run(flags, positionals) {
    const { url, method, words } = targetFrom("stream", positionals);
    const params = await paramsFrom(words);
    const signal = stopSignal();
    const own = flags.timeout === undefined ? undefined : timeoutOf(flags.timeout);
    const ended = own === undefined ? undefined : AbortSignal.timeout(own);
    const link = await linkFromUrl(url, linkOptionsOf(flags));
    await using client = createClient(link);
    let count = 0;
    try {
      const both = AbortSignal.any(ended === undefined ? [signal] : [signal, ended]);
      for await (const item of client.stream(method, params, { signal: both })) {
        count++;
        // A slow reader of this output slows the producer down.
        if (!process.stdout.write(`${jsonLine(item)}\n`)) await once(process.stdout, "drain");
      }
    } catch (error) {
      const items = count === 1 ? "1 item" : `${count} items`;
      if (signal.aborted) {
        throw new Failure(`${method} was cancelled after ${items}`, {
          cause: error,
          exitCode: 130,
        });
      }
      if (ended?.aborted) {
        const text = `${method} was ended by --timeout, after ${items}`;
        throw new Failure(text, { cause: error, exitCode: 3 });
      }
      throw callFailure(error instanceof RpcError ? method : url, error);
    }
    if (count === 0) {
      console.error(`callwire: no items came; if ${method} does not stream, use "callwire call"`);
    }
  },
});
