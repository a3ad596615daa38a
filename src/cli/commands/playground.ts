import type { Server } from "node:http";
import { playgroundHandler } from "callwire/http/node";
import { defineCommand, flag, option } from "../command.ts";
import { onlyArgument, portOf } from "../command-arguments.ts";
import { Failure, oneLine } from "../failure.ts";
import { forwardingServer } from "../forwarding.ts";
import { listenOnLoopback } from "../host-names.ts";
import { firstCall } from "../inspect/first-call.ts";
import { Prober } from "../inspect/prober.ts";
import { checkHttpHeaders, isServerUrl } from "../link-from-url.ts";
import { openBrowser } from "../open-browser.ts";
import { untilSignal } from "../process-end.ts";
import { rawWireFromUrl } from "../raw-wire.ts";
import { linkOptionsOf, serverOptions } from "../server-options.ts";
import { notice, Terminal } from "../terminal.ts";

/** Tried first: a browser keeps its history by origin, which includes the port. */
const usualPort = 7357;
const path = "/rpc";

export const command = defineCommand({
  usage: "<url> [options]",
  options: {
    port: option("number", `port for the page (default ${usualPort}, or any free one)`),
    "no-open": flag("do not open a browser"),
    header: serverOptions.header,
    bearer: serverOptions.bearer,
  },
  examples: [
    ["callwire playground http://localhost:8000/rpc", "a server on this machine"],
    ['callwire playground https://rpc.example.com --bearer "$TOKEN"', "with a token"],
  ],
  async run(flags, positionals) {
    const target = targetOf(onlyArgument("playground", "an address", positionals));
    const { headers } = linkOptionsOf({ ...flags, framing: undefined, timeout: undefined });
    checkHttpHeaders(headers);
    const stopping = untilSignal();
    const server = forwardingServer({
      target,
      path,
      headers,
      page: playgroundHandler({ endpoints: [path], target: target.href }),
    });
    const page = `http://127.0.0.1:${await listen(server, flags.port)}/`;
    const terminal = new Terminal(process.stdout);
    terminal.line(`${terminal.bold("Playground")}  ${terminal.cyan(page)}`);
    terminal.line(`${terminal.dim("calls")}       ${target.href}`);
    terminal.line();
    terminal.line(terminal.dim("Press Ctrl-C to stop."));
    void warnUnlessAnswered(target, headers);
    if (flags["no-open"] !== true) openBrowser(page);
    await stopping;
    server.closeAllConnections();
    // Open WebSockets must not keep the process alive.
    process.exit(0);
  },
});

/** Only a warning, because the server may start later. */
async function warnUnlessAnswered(
  target: URL,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const url = target.href;
  const wire = await rawWireFromUrl(url, { headers });
  const timeoutMs = 5000;
  try {
    const prober = new Prober(wire, timeoutMs, new AbortController().signal);
    await firstCall(url, prober, { timeoutMs, headers });
  } catch (error) {
    notice(`${oneLine(error)}; the page stays empty until a server answers`);
  } finally {
    await wire.close();
  }
}

function targetOf(text: string): URL {
  const target = URL.canParse(text) ? new URL(text) : undefined;
  if (target === undefined || !/^(https?|wss?):$/.test(target.protocol)) {
    const hint = isServerUrl(text) ? `; try callwire gateway --to ${text} --playground` : "";
    throw new Failure(`${JSON.stringify(text)} is not an http, https, ws or wss address${hint}`);
  }
  if (target.username !== "" || target.password !== "")
    throw new Failure("credentials in the address are not sent; use --header instead");
  return target;
}

/** The headers go with every call, so only this machine may reach the page. */
async function listen(server: Server, flag: string | undefined): Promise<number> {
  const port = flag === undefined ? usualPort : portOf("--port", flag);
  try {
    return await listenOnLoopback(server, port);
  } catch (error) {
    if (flag === undefined) return listenOnLoopback(server, 0);
    throw new Failure(`port ${flag} cannot be opened: ${oneLine(error)}`, { cause: error });
  }
}
