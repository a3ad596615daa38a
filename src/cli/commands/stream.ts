import { once } from "node:events";
import {
  type Client,
  createClient,
  type Middleware,
  printable,
  type Reply,
  success,
} from "callwire";
import { explainedFailure } from "../call-failure.ts";
import { command } from "../command.ts";
import { targetFrom } from "../command-arguments.ts";
import { knownMethods } from "../described-methods.ts";
import { Failure } from "../failure.ts";
import { linkFromUrl } from "../link-from-url.ts";
import { aboutParams, paramsFrom } from "../params.ts";
import { stopCode, stopSignal } from "../process-end.ts";
import { linkOptionsOf, serverOptions, timeoutOf, verboseOption } from "../server-options.ts";
import { jsonLine, notice } from "../terminal.ts";

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
    json: { type: "boolean", description: "items are JSON already; with this a failure is so too" },
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
    const options = linkOptionsOf(flags);
    const { headers } = options;
    const link = await linkFromUrl(url, options);
    let reply: Reply | undefined;
    const noting: Middleware = (next) => async (request, context) => {
      const answer = await next(request, context);
      if (request.method !== method || answer?.error !== undefined) return answer;
      // What a method that is no stream answered is told below.
      reply = answer;
      return success(null);
    };
    await using client = createClient(link, { use: [noting] });
    let count = 0;
    try {
      const both = AbortSignal.any(ended === undefined ? [signal] : [signal, ended]);
      for await (const item of client.stream(method, params, { signal: both })) {
        count++;
        // A slow reader of this output slows the producer down.
        if (!process.stdout.write(`${jsonLine(item)}\n`)) {
          await once(process.stdout, "drain", { signal: both });
        }
      }
    } catch (error) {
      const items = count === 1 ? "1 item" : `${count} items`;
      if (signal.aborted) {
        throw new Failure(`${method} was cancelled after ${items}`, {
          cause: error,
          exitCode: stopCode(),
        });
      }
      if (ended?.aborted) {
        const text = `${method} was ended by --timeout, after ${items}`;
        throw new Failure(text, { cause: error, exitCode: 3 });
      }
      throw await explainedFailure({ url, method, headers, client }, error);
    }
    if (count === 0) await mustStream(method, client, reply);
  },
});

/** No item came: of a stream that had none, or of a method that is no stream. */
async function mustStream(method: string, client: Client, reply: Reply | undefined): Promise<void> {
  const described = (await knownMethods(client)).get(method);
  const result = (reply as { result?: unknown } | undefined)?.result ?? null;
  const streams = described === undefined ? result === null : described["x-stream"] !== undefined;
  if (!streams) {
    throw new Failure(
      `${method} does not stream; it answered ${printable(jsonLine(result))}. Use "callwire call"`,
      { exitCode: 1, report: { code: "NO_STREAM", data: { result } } },
    );
  }
  const hint = described === undefined ? `; if ${method} does not stream, use "callwire call"` : "";
  notice(`no items came${hint}`);
}
