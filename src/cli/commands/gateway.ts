import { createGateway, type Gateway, type GatewayOptions } from "callwire/gateway";
import { command } from "../command.ts";
import { framingOf } from "../command-arguments.ts";
import { Failure, oneLine } from "../failure.ts";
import { ConfigReader, configFault, type LoadedConfig } from "../gateway/config.ts";
import { checkAddress, nameOf } from "../gateway/upstreams.ts";
import {
  countingOf,
  metricsOption,
  playgroundOption,
  refuseWithoutHttp,
  wireOptions,
} from "../served-wires.ts";
import { serveUntilStopped } from "../serving.ts";
import { notice } from "../terminal.ts";

export const gateway = command({
  usage: "<config.json | config.ts> [options]",
  options: {
    to: { type: "string", value: "url", description: "without a config: send everything there" },
    "to-framing": {
      type: "string",
      value: "name",
      description: "newline, content-length or length-prefix, for what --to names",
    },
    "to-connections": {
      type: "string",
      value: "number",
      description: "most connections to it, one for each caller (default 32 for stdio: processes)",
    },
    ...wireOptions,
    ...playgroundOption,
    ...metricsOption,
  },
  examples: [
    [
      "callwire gateway ./gateway.json --port 8080",
      "many servers behind one; SIGHUP reads the config again",
    ],
    [
      'callwire gateway --to "stdio:callwire demo --stdio"',
      "a program on a WebSocket, a process for each connection",
    ],
    ["callwire gateway --to http://localhost:8000/rpc --stdio", "a server on the web as a program"],
  ],
  async run(flags, positionals) {
    const [path, extra] = positionals;
    if (extra !== undefined)
      throw new Failure(`gateway takes one config, not ${JSON.stringify(extra)} too`);
    if (path !== undefined && flags.to !== undefined) {
      throw new Failure("gateway takes a config or --to, not both");
    }
    if (path !== undefined && flags["to-framing"] !== undefined) {
      throw new Failure('--to-framing goes with --to; in a config an upstream has "framing"');
    }
    if (path !== undefined && flags["to-connections"] !== undefined) {
      throw new Failure(
        '--to-connections goes with --to; in a config an upstream has "maxConnections"',
      );
    }
    if (path === undefined && flags.to === undefined) {
      throw new Failure('gateway needs a config or --to; see "callwire gateway --help"');
    }
    refuseWithoutHttp(flags);
    let started = (): void => {};
    let reloaded = new Promise<void>((resolve) => {
      started = resolve;
    });
    let reading: AbortController | undefined;
    if (path !== undefined) {
      // Heard from the start, which an upstream may hold up: a signal that nobody hears ends the process.
      process.on("SIGHUP", () => {
        // One after the other, so that what was read last is what stays; a module that hangs must not hold up the next.
        reading?.abort(new Error("it was still loading when it was to be read again"));
        reloaded = reloaded.then(() => {
          reading = new AbortController();
          return reload(server, path, read, begun);
        });
      });
    }
    const reader = new ConfigReader();
    const read = async (): Promise<LoadedConfig> =>
      path === undefined ? bridgeTo(flags, reader) : reader.read(path, reading?.signal);
    const begun = await read();
    const { options } = begun;
    const { metrics, use, pages } = countingOf(flags);
    const server = await begin(begun, { ...options, use: [...use, ...(options.use ?? [])] });
    metrics?.targets(() => server.targets());
    started();
    const speaks = (options.versions ?? ["2.0"]).join(" and ");
    const mount = { path: "/rpc", server, speaks: `JSON-RPC ${speaks}` };
    await serveUntilStopped([mount], flags, {
      pages,
      playground: flags.playground === true,
      ready: () => server.readiness(),
    });
  },
});

/** One upstream for everything; each caller gets a connection of its own, so that it can be called back. */
async function bridgeTo(
  {
    to: url = "",
    "to-framing": name,
    "to-connections": most,
  }: {
    to?: string | undefined;
    "to-framing"?: string | undefined;
    "to-connections"?: string | undefined;
  },
  reader: ConfigReader,
): Promise<LoadedConfig> {
  const framing = name === undefined ? undefined : framingOf(name, "--to-framing");
  await checkAddress(url, framing);
  const maxConnections = most === undefined ? undefined : connectionsOf(most);
  const upstream = nameOf(url);
  const file = {
    upstreams: {
      [upstream]: {
        url,
        per: "connection",
        ...(framing && { framing }),
        ...(maxConnections && { maxConnections }),
      },
    },
    routes: [{ method: "*", to: upstream }],
  } as const;
  return reader.assemble({ file });
}

function connectionsOf(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new Failure(`--to-connections is a number of at least 1, not ${JSON.stringify(text)}`);
}

async function begin(loaded: LoadedConfig, options: GatewayOptions): Promise<Gateway> {
  try {
    const gateway = await createGateway(loaded.config, options);
    loaded.taken();
    return gateway;
  } catch (error) {
    throw error instanceof TypeError ? configFault(loaded, error) : error;
  }
}

/** Takes the config as it is now; one that cannot be used is told, and the old one stays. */
async function reload(
  gateway: Gateway,
  path: string,
  read: () => Promise<LoadedConfig>,
  begun: LoadedConfig,
): Promise<void> {
  try {
    const loaded = await read();
    const { config, lasting } = loaded;
    await gateway.configure(config).catch((error: unknown) => {
      throw error instanceof TypeError ? configFault(loaded, error) : error;
    });
    loaded.taken();
    const waiting = Object.keys(lasting).filter((name) => lasting[name] !== begun.lasting[name]);
    const rest = waiting.length === 0 ? "" : `; a restart is needed for ${waiting.join(", ")}`;
    // Whether functions do the same as before cannot be seen.
    const guards = [begun, loaded].some(({ options }) => options.use !== undefined);
    const kept = guards ? "; `use` is still that of the start" : "";
    notice(`${path} was read again${rest}${kept}`);
  } catch (error) {
    notice(`${oneLine(error)}; the config before stays`);
  }
}
