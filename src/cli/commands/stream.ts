import { once } from "node:events";
import {
  type Client,
  createClient,
  type Middleware,
  printable,
  type Reply,
  success,
} from "callwire";
import { explainFailure } from "../call-failure.ts";
import { defineCommand, flag, option } from "../command.ts";
import { targetFrom, timeoutOf } from "../command-arguments.ts";
import { declaredCall } from "../declared-types.ts";
import { knownMethods } from "../described-methods.ts";
import { Failure } from "../failure.ts";
import { linkFromUrl } from "../link-from-url.ts";
import { aboutParams } from "../params.ts";
import { stopped, stopSignal } from "../process-end.ts";
import { linkOptionsOf, serverOptions, verboseOption } from "../server-options.ts";
import { counted, jsonLine, notice } from "../terminal.ts";

export const command = defineCommand({
  usage: "<url> <method> [params] [options]",
  about: aboutParams,
  options: {
    ...serverOptions,
    timeout: option("time", "end the stream after this, such as 1m (default never)"),
    ...verboseOption,
    json: flag("print failures as JSON too; items always are"),
  },
  examples: [
    ["callwire stream http://localhost:8000/rpc math/count to=3", "one line of JSON per item"],
    [
      'callwire stream ws://localhost:8000/rpc/ws paritosh/stream message="hello there"',
      "as they arrive; Ctrl-C cancels",
    ],
    ["callwire stream http://localhost:8000/rpc math/count to=100000 | head -3", "the first three"],
  ],
  async run(flags, positionals) {
    const { url, method, words } = targetFrom("stream", positionals);
    const signal = stopSignal();
    const late =
      flags.timeout === undefined ? undefined : AbortSignal.timeout(timeoutOf(flags.timeout));
    const options = linkOptionsOf(flags);
    const { headers } = options;
    const link = await linkFromUrl(url, options);
    let reply: Reply | undefined;
    const keepReply: Middleware = (next) => async (request, context) => {
      const answer = await next(request, context);
      if (request.method !== method || answer?.error !== undefined) return answer;
      // mustStream reports the result of a method that is not a stream.
      reply = answer;
      return success(null);
    };
    const clientOptions = { use: [keepReply] };
    await using plain = createClient(link, clientOptions);
    const written = { link, clientOptions, method, words };
    const { params, client, shown } = await declaredCall(plain, written, { ...options, signal });
    let count = 0;
    try {
      const both = AbortSignal.any(late === undefined ? [signal] : [signal, late]);
      for await (const item of client.stream(method, params, { signal: both })) {
        count++;
        // A slow reader slows the producer down.
        if (!process.stdout.write(`${jsonLine(shown(item))}\n`)) {
          await once(process.stdout, "drain", { signal: both });
        }
      }
    } catch (error) {
      const items = counted(count, "item");
      if (signal.aborted) throw stopped(`${method} was cancelled after ${items}`, error);
      if (late?.aborted) {
        const message = `${method} reached its --timeout after ${items}`;
        throw new Failure(message, { cause: error, exitCode: 3 });
      }
      throw await explainFailure({ url, method, headers, client }, error);
    }
    if (count === 0) await mustStream(method, client, reply);
  },
});

/** Without items, the method is either an empty stream or not a stream. */
async function mustStream(method: string, client: Client, reply: Reply | undefined): Promise<void> {
  const described = (await knownMethods(client)).get(method);
  const result = (reply as { result?: unknown } | undefined)?.result ?? null;
  const streams = described === undefined ? result === null : described["x-stream"] !== undefined;
  if (!streams) {
    throw new Failure(
      `${method} is not a stream; it answered ${printable(jsonLine(result))}. Use "callwire call"`,
      { exitCode: 1, report: { code: "NO_STREAM", data: { result } } },
    );
  }
  const hint = described === undefined ? `; if ${method} is not a stream, use "callwire call"` : "";
  notice(`the stream had no items${hint}`);
}
