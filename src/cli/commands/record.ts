import { redactor, secretKeys } from "callwire/observability";
import { command } from "../command.ts";
import { portOf } from "../command-arguments.ts";
import { Failure, masked, oneLine } from "../failure.ts";
import { mustBeWritable } from "../output-file.ts";
import { toldToStop } from "../process-end.ts";
import { RecordingProxy } from "../recording/proxy.ts";
import { Recorder } from "../recording/recorder.ts";

export const record = command({
  usage: "<url> --to <file> [options]",
  options: {
    to: { type: "string", value: "file", description: "write the recording here" },
    port: {
      type: "string",
      value: "number",
      description: "listen here; 0 takes a free one (default 8001)",
    },
    redact: {
      type: "string",
      value: "names",
      description:
        "hide these too: members (ssn) and places (params.user.email), with commas between",
    },
  },
  examples: [
    [
      "callwire record http://localhost:8000/rpc --to calls.jsonl",
      "call http://localhost:8001/rpc instead, over HTTP or WebSocket; Ctrl-C ends it",
    ],
  ],
  async run(flags, positionals) {
    const [address, extra] = positionals;
    if (address === undefined)
      throw new Failure('record needs an address; see "callwire record --help"');
    if (extra !== undefined)
      throw new Failure(`record takes one address, not ${JSON.stringify(extra)} too`);
    if (flags.to === undefined) throw new Failure("record needs --to and a file");
    const target = targetOf(address);
    const port = portOf("--port", flags.port ?? "8001");
    const names = (flags.redact ?? "")
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "");
    const redact = redactor({
      keys: [...secretKeys, ...names.filter((name) => !/[.[]/.test(name))],
      paths: names.filter((name) => /[.[]/.test(name)),
      // A recording is there to be sent again, so nothing is cut short.
      maxLength: Number.POSITIVE_INFINITY,
      maxDepth: 1000,
    });
    await mustBeWritable(flags.to);
    const told = toldToStop();
    const recorder = new Recorder(flags.to, redact);
    const proxy = new RecordingProxy(target, recorder);
    try {
      const url = await proxy.listen(port);
      console.log(
        `Recording ${masked(target.href)} to ${flags.to}; call ${url} instead. Ctrl-C ends it.`,
      );
      await Promise.race([told, recorder.failed]);
    } catch (error) {
      const taken = (error as { code?: unknown }).code === "EADDRINUSE";
      throw new Failure(
        taken
          ? `port ${port} is taken; choose another with --port`
          : `cannot record: ${oneLine(error)}`,
        { cause: error },
      );
    }
    await proxy.close();
    await recorder.close();
    console.log(`Recorded ${recorder.count} messages.`);
    process.exit(0);
  },
});

function targetOf(address: string): URL {
  const [, secure] = /^(?:http|ws)(s?):\/\//.exec(address) ?? [];
  if (secure === undefined) {
    throw new Failure(`record takes http:// and ws:// addresses, not ${JSON.stringify(address)}`);
  }
  const target = address.replace(/^ws/, "http");
  if (!URL.canParse(target)) throw new Failure(`${JSON.stringify(address)} is no address`);
  const url = new URL(target);
  if (url.username !== "" || url.password !== "")
    throw new Failure(
      "record passes on the credentials of whoever calls; put none into the address",
    );
  return url;
}
