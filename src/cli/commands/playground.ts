import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { playgroundHandler } from "callwire/http/node";
import { command } from "../command.ts";
import { portOf } from "../command-arguments.ts";
import { Failure, oneLine } from "../failure.ts";
import { forwardingServer } from "../forwarding.ts";
import { greeted } from "../inspect/first-call.ts";
import { Prober } from "../inspect/prober.ts";
import { isServerUrl, mustBeHttpHeaders } from "../link-from-url.ts";
import { openBrowser } from "../open-browser.ts";
import { toldToStop } from "../process-end.ts";
import { rawWireFromUrl } from "../raw-wire.ts";
import { linkOptionsOf, serverOptions } from "../server-options.ts";
import { notice, Terminal } from "../terminal.ts";

/** Tried first, so that the browser finds its history again. */
const usualPort = 7357;
const path = "/rpc";

export const playground = command({
  usage: "<url> [options]",
  options: {
    port: {
      type: "string",
      value: "number",
      description: `port for the page; 0 takes a free one (default ${usualPort}, or a free one)`,
    },
    "no-open": { type: "boolean", description: "do not open a browser" },
    header: serverOptions.header,
    bearer: serverOptions.bearer,
  },
  examples: [
    ["callwire playground http://localhost:8000/rpc", "a server on this machine"],
    ['callwire playground https://rpc.example.com --bearer "$TOKEN"', "with a token"],
  ],
  async run(flags, positionals) {
    const [url, extra] = positionals;
    if (url === undefined)
      throw new Failure('playground needs an address; see "callwire playground --help"');
    if (extra !== undefined)
      throw new Failure(`playground takes one address, not ${JSON.stringify(extra)} too`);
    const target = targetOf(url);
    const { headers } = linkOptionsOf({ ...flags, framing: undefined, timeout: undefined });
    mustBeHttpHeaders(headers);
    const told = toldToStop();
    const server = forwardingServer({
      target,
      path,
      headers,
      page: playgroundHandler({ endpoints: [path], target: target.href }),
    });
    await listen(server, flags.port);
    const page = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const terminal = new Terminal(process.stdout);
    terminal.line(`${terminal.bold("Playground")}  ${terminal.cyan(page)}`);
    terminal.line(`${terminal.dim("calls")}       ${target.href}`);
    terminal.line();
    terminal.line(terminal.dim("Ctrl-C stops it."));
    void warnUnlessAnswered(target, headers);
    if (flags["no-open"] !== true) openBrowser(page);
    await told;
    server.closeAllConnections();
    // WebSockets that are open must not hold the process.
    process.exit(0);
  },
});

/** The page can wait for a server that begins later, so this is no failure. */
async function warnUnlessAnswered(
  target: URL,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const url = target.href;
  const wire = await rawWireFromUrl(url, { headers });
  const timeoutMs = 5000;
  try {
    const prober = new Prober(wire, timeoutMs, new AbortController().signal);
    await greeted(url, prober, { timeoutMs, headers });
  } catch (error) {
    notice(`${oneLine(error)}; the page will show nothing until a server answers`);
  } finally {
    await wire.close();
  }
}

function targetOf(text: string): URL {
  const target = URL.canParse(text) ? new URL(text) : undefined;
  if (target === undefined || !/^(https?|wss?):$/.test(target.protocol)) {
    const hint = isServerUrl(text) ? `; try callwire gateway --to ${text} --playground` : "";
    throw new Failure(`${JSON.stringify(text)} is no address of http, https, ws or wss${hint}`);
  }
  if (target.username !== "" || target.password !== "")
    throw new Failure("put credentials into --header, not into the address");
  return target;
}

async function listen(server: Server, flag: string | undefined): Promise<void> {
  const port = flag === undefined ? usualPort : portOf("--port", flag);
  try {
    await listenAt(server, port);
  } catch (error) {
    if (flag !== undefined) {
      throw new Failure(`port ${flag} cannot be opened: ${oneLine(error)}`, { cause: error });
    }
    await listenAt(server, 0);
  }
}

function listenAt(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    // Nobody but this machine: whoever reaches the page reaches the target with its headers.
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}
