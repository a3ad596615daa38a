import { createClient } from "callwire";
import { explainedFailure } from "../call-failure.ts";
import { command } from "../command.ts";
import { targetFrom } from "../command-arguments.ts";
import { Failure } from "../failure.ts";
import { linkFromUrl } from "../link-from-url.ts";
import { aboutParams, paramsFrom } from "../params.ts";
import { stopCode, stopSignal } from "../process-end.ts";
import { linkOptionsOf, serverOptions, timeoutOf, verboseOption } from "../server-options.ts";

export const notify = command({
  usage: "<url> <method> [params] [options]",
  about: aboutParams,
  options: { ...serverOptions, ...verboseOption },
  examples: [
    [
      'callwire notify http://localhost:8000/rpc notify_log message="User logged in"',
      "shows in the terminal of the demo",
    ],
    [
      'callwire notify ws://localhost:8000/rpc/ws notify_log \'{"message":"hi"}\' --verbose',
      "and what was sent",
    ],
  ],
  async run(flags, positionals) {
    const { url, method, words } = targetFrom("notify", positionals);
    const params = await paramsFrom(words);
    const signal = stopSignal();
    const options = linkOptionsOf(flags);
    const link = await linkFromUrl(url, options);
    await using client = createClient(link, { timeoutMs: timeoutOf(flags.timeout) });
    try {
      await client.notify(method, params, { signal });
    } catch (error) {
      if (signal.aborted)
        throw new Failure(`${method} was cancelled`, { cause: error, exitCode: stopCode() });
      throw await explainedFailure({ url, headers: options.headers }, error);
    }
  },
});
