import { command } from "../command.ts";
import { addressFrom } from "../command-arguments.ts";
import { Failure } from "../failure.ts";
import { inspectServer } from "../inspect/inspection.ts";
import { Prober } from "../inspect/prober.ts";
import { showInspection } from "../inspect/report.ts";
import { LiveLine } from "../live-line.ts";
import { stopSignal } from "../process-end.ts";
import { rawWireFromUrl } from "../raw-wire.ts";
import { linkOptionsOf, serverOptions, timeoutOf, verboseOption } from "../server-options.ts";
import { Terminal } from "../terminal.ts";

export const inspect = command({
  usage: "<url> [options]",
  options: {
    quick: { type: "boolean", description: "do not look for limits" },
    ...serverOptions,
    timeout: {
      ...serverOptions.timeout,
      description: "wait so long for an answer (default 5000)",
    },
    ...verboseOption,
    json: { type: "boolean", description: "what was found, as JSON" },
  },
  examples: [
    ["callwire inspect http://localhost:8000/rpc", "what the server is and what it refuses"],
    ["callwire inspect ws://localhost:8000/rpc/ws --quick", "without looking for limits"],
    ['callwire inspect "stdio:callwire demo --stdio" --json', "of a program, for scripts"],
  ],
  async run(flags, positionals) {
    const [url, [extra]] = addressFrom("inspect", positionals);
    if (extra !== undefined) {
      throw new Failure(`inspect takes one address, not ${JSON.stringify(extra)} too`);
    }
    const timeoutMs = timeoutOf(flags.timeout ?? "5000");
    // A program's own words would stand between ours.
    const options = { ...linkOptionsOf(flags), stderr: "ignore" } as const;
    const wire = await rawWireFromUrl(url, options);
    const line = new LiveLine(process.stderr, new Terminal(process.stderr));
    const prober = new Prober(wire, timeoutMs, stopSignal());
    try {
      const found = await inspectServer(
        url,
        prober,
        { ...options, timeoutMs, limits: !flags.quick },
        (what) => line.show(`probing: ${what}`),
      );
      line.clear();
      const terminal = new Terminal(process.stdout);
      if (flags.json) terminal.line(JSON.stringify(found));
      else showInspection(found, terminal);
    } finally {
      line.clear();
      await wire.close();
    }
  },
});
