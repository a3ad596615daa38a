import { defineCommand, flag } from "../command.ts";
import { onlyAddress, timeoutOf, timeoutOption } from "../command-arguments.ts";
import { inspectServer } from "../inspect/inspection.ts";
import { Prober } from "../inspect/prober.ts";
import { showInspection } from "../inspect/report.ts";
import { LiveLine } from "../live-line.ts";
import { stopSignal } from "../process-end.ts";
import { rawWireFromUrl } from "../raw-wire.ts";
import { linkOptionsOf, serverOptions, verboseOption } from "../server-options.ts";
import { Terminal } from "../terminal.ts";

export const command = defineCommand({
  usage: "<url> [options]",
  options: {
    quick: flag("do not probe limits"),
    ...serverOptions,
    timeout: timeoutOption(5),
    ...verboseOption,
    json: flag("print the result as JSON"),
  },
  examples: [
    ["callwire inspect http://localhost:8000/rpc", "what the server supports and rejects"],
    ["callwire inspect ws://localhost:8000/rpc/ws --quick", "without probing limits"],
    ['callwire inspect "stdio:callwire demo --stdio" --json', "a program, for scripts"],
  ],
  async run(flags, positionals) {
    const url = onlyAddress("inspect", positionals);
    const timeoutMs = timeoutOf(flags.timeout ?? "5s");
    // The stderr of a program would mix with the report.
    const options = { ...linkOptionsOf(flags), stderr: "ignore" } as const;
    const wire = await rawWireFromUrl(url, options);
    const line = new LiveLine();
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
