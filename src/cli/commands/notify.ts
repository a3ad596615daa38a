import { createClient } from "callwire";
import { explainFailure } from "../call-failure.ts";
import { defineCommand } from "../command.ts";
import { targetFrom, timeoutOf } from "../command-arguments.ts";
import { declaredCall } from "../declared-types.ts";
import { linkFromUrl } from "../link-from-url.ts";
import { aboutParams } from "../params.ts";
import { stopped, stopSignal } from "../process-end.ts";
import { linkOptionsOf, serverOptions, verboseOption } from "../server-options.ts";

export const command = defineCommand({
  usage: "<url> <method> [params] [options]",
  about: aboutParams,
  options: { ...serverOptions, ...verboseOption },
  examples: [
    [
      'callwire notify http://localhost:8000/rpc notify_log message="User logged in"',
      "appears in the terminal of the demo",
    ],
    [
      'callwire notify ws://localhost:8000/rpc/ws notify_log \'{"message":"hi"}\' --verbose',
      "shows what was sent",
    ],
  ],
  async run(flags, positionals) {
    const { url, method, words } = targetFrom("notify", positionals);
    const signal = stopSignal();
    const options = linkOptionsOf(flags);
    const link = await linkFromUrl(url, options);
    const clientOptions = { timeoutMs: timeoutOf(flags.timeout) };
    await using plain = createClient(link, clientOptions);
    const written = { link, clientOptions, method, words };
    const { params, client } = await declaredCall(plain, written, { ...options, signal });
    try {
      await client.notify(method, params, { signal });
    } catch (error) {
      if (signal.aborted) throw stopped(`${method} was cancelled`, error);
      throw await explainFailure({ url, headers: options.headers }, error);
    }
  },
});
