import { redactor, secretKeys } from "callwire/observability";
import { tlsOptions } from "../client-tls.ts";
import { defineCommand, option } from "../command.ts";
import { commaSeparated, onlyArgument, portOf, timeoutOf } from "../command-arguments.ts";
import { Failure, masked, oneLine } from "../failure.ts";
import { checkWritable } from "../files.ts";
import { checkHttpHeaders, notAnAddress } from "../link-from-url.ts";
import { untilSignal } from "../process-end.ts";
import { RecordingProxy } from "../recording/proxy.ts";
import { Recorder } from "../recording/recorder.ts";
import { linkOptionsOf, serverOptions } from "../server-options.ts";
import { counted, notice } from "../terminal.ts";

export const command = defineCommand({
  usage: "<url> --to <file> [options]",
  options: {
    to: option("file", "file for the recording"),
    port: option("number", "port to listen on; 0 picks a free one (default 8001)"),
    header: serverOptions.header,
    bearer: serverOptions.bearer,
    ...tlsOptions,
    timeout: option("time", "limit for the start of each reply (default 5m)"),
    redact: option("names", "more to redact, such as ssn,params.user.email"),
  },
  examples: [
    [
      "callwire record http://localhost:8000/rpc --to calls.jsonl",
      "then call http://localhost:8001/rpc, over HTTP or WebSocket, until Ctrl-C",
    ],
  ],
  async run(flags, positionals) {
    const target = targetOf(onlyArgument("record", "an address", positionals));
    if (flags.to === undefined)
      throw new Failure('record needs --to <file>; see "callwire record --help"');
    const port = portOf("--port", flags.port ?? "8001");
    const { headers } = linkOptionsOf(flags);
    checkHttpHeaders(headers);
    const timeoutMs = timeoutOf(flags.timeout ?? "5m");
    const names = commaSeparated(flags.redact ?? "");
    const redact = redactor({
      keys: [...secretKeys, ...names.filter((name) => !/[.[]/.test(name))],
      paths: names.filter((name) => /[.[]/.test(name)),
      // A truncated recording could not be replayed.
      maxLength: Number.POSITIVE_INFINITY,
      maxDepth: 1000,
    });
    await checkWritable(flags.to);
    const stopping = untilSignal();
    const recorder = new Recorder(flags.to, redact);
    const proxy = new RecordingProxy({ target, headers, timeoutMs, recorder, notify: notice });
    try {
      const url = await proxy.listen(port);
      console.log(
        `Recording ${masked(target.href)} to ${flags.to}; call ${url} instead. Press Ctrl-C to stop.`,
      );
      await Promise.race([stopping, recorder.failed]);
    } catch (error) {
      const isTaken = (error as { code?: unknown }).code === "EADDRINUSE";
      const message = isTaken
        ? `port ${port} is in use; choose another with --port`
        : `cannot record: ${oneLine(error)}`;
      throw new Failure(message, { cause: error });
    }
    await proxy.close();
    await recorder.close();
    console.log(`Recorded ${counted(recorder.count, "message")}.`);
    process.exit(0);
  },
});

function targetOf(address: string): URL {
  if (!/^(http|ws)s?:\/\//.test(address)) {
    throw new Failure(
      `the address must begin with http://, https://, ws:// or wss://, not ${JSON.stringify(address)}`,
    );
  }
  const target = address.replace(/^ws/, "http");
  if (!URL.canParse(target)) throw notAnAddress(address);
  const url = new URL(target);
  if (url.username !== "" || url.password !== "")
    throw new Failure(
      "credentials in the address are not sent; use --header, or send them with each call",
    );
  return url;
}
