import type { Server } from "node:http";
import { type PlaygroundOptions, playgroundHandler } from "callwire/http/node";
import { tlsOptions } from "../client-tls.ts";
import { defineCommand, flag, option } from "../command.ts";
import { onlyArgument, portOf, timeoutOf } from "../command-arguments.ts";
import { Failure, oneLine } from "../failure.ts";
import { listenOnLoopback } from "../host-names.ts";
import { firstCall } from "../inspect/first-call.ts";
import { findWires } from "../inspect/other-wires.ts";
import { Prober } from "../inspect/prober.ts";
import { checkHttpHeaders, isServerUrl } from "../link-from-url.ts";
import { openBrowser } from "../open-browser.ts";
import { forwardingServer } from "../playground-proxy.ts";
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
    ...tlsOptions,
    timeout: option("time", "limit for the start of each reply (default 5m)"),
  },
  examples: [
    ["callwire playground http://localhost:8000/rpc", "a server on this machine"],
    ['callwire playground https://rpc.example.com --bearer "$TOKEN"', "with a token"],
  ],
  async run(flags, positionals) {
    const target = targetOf(onlyArgument("playground", "an address", positionals));
    const { headers } = linkOptionsOf(flags);
    checkHttpHeaders(headers);
    const timeoutMs = timeoutOf(flags.timeout ?? "5m");
    const stopping = untilSignal();
    const wires = wiresOf(target, headers, Math.min(timeoutMs, 5000));
    // The page waits until it is known which wires it can offer.
    const handler = wires.then((known) =>
      playgroundHandler({ endpoints: [path], target: target.href, ...known }),
    );
    const server = forwardingServer({
      target,
      path,
      headers,
      timeoutMs,
      page: (request, response) => void handler.then((answer) => answer(request, response)),
    });
    const page = `http://127.0.0.1:${await listen(server, flags.port)}/`;
    const terminal = new Terminal(process.stdout);
    terminal.line(`${terminal.bold("Playground")}  ${terminal.cyan(page)}`);
    terminal.line(`${terminal.dim("calls")}       ${target.href}`);
    terminal.line();
    terminal.line(terminal.dim("Press Ctrl-C to stop."));
    if (flags["no-open"] !== true) openBrowser(page);
    await stopping;
    server.closeAllConnections();
    // Open WebSockets must not keep the process alive.
    process.exit(0);
  },
});

/** The wires at the same path of the server. If it does not answer, it may start later: then all are offered. */
async function wiresOf(
  target: URL,
  headers: Readonly<Record<string, string>>,
  probeMs: number,
): Promise<Pick<PlaygroundOptions, "wires">> {
  const url = target.href;
  const wire = await rawWireFromUrl(url, { headers });
  try {
    const prober = new Prober(wire, probeMs, new AbortController().signal);
    await firstCall(url, prober, { timeoutMs: probeMs, headers });
    const found = await findWires(url, { headers }, probeMs, prober);
    const isSame = (other: string): boolean => pathOf(other) === pathOf(url);
    const names = found.filter((each) => isSame(each.url)).map((each) => wireNames[each.wire]);
    return { wires: [/^ws/.test(url) ? "websocket" : "http", ...names] };
  } catch (error) {
    notice(`${oneLine(error)}; the page stays empty until a server answers`);
    return {};
  } finally {
    await wire.close();
  }
}

const wireNames = { HTTP: "http", WebSocket: "websocket", SSE: "sse" } as const;

function pathOf(url: string): string {
  return new URL(url).pathname.replace(/\/$/, "");
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
