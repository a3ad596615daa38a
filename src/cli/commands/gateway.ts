import type { Log } from "callwire";
import { createGateway, type Gateway, type GatewayOptions } from "callwire/gateway";
import { tlsOptions, useClientTls } from "../client-tls.ts";
import { defineCommand, option } from "../command.ts";
import { countOf, framingOf, framings, refuseExtra } from "../command-arguments.ts";
import { Failure, oneLine } from "../failure.ts";
import { ConfigReader, configFault, type LoadedConfig, settingName } from "../gateway/config.ts";
import { checkAddress, defined, nameOf } from "../gateway/upstreams.ts";
import { guardOptions, guardsOf, serverTlsOf } from "../guard-options.ts";
import { logFormatOf, logIn, logOption, warningsOf } from "../log-format.ts";
import {
  metricsOf,
  metricsOption,
  playgroundOption,
  refuseWithoutHttp,
  wireOptions,
} from "../served-wires.ts";
import { serveUntilStopped } from "../serving.ts";
import { runWorkers, startsWorkers, workerOptions } from "../serving-workers.ts";

/** Options for --to, and what they are called in a config. */
const bridgeSettings = [
  ["to-framing", "framing"],
  ["to-connections", "maxConnections"],
] as const;

export const command = defineCommand({
  usage: "<config.json | config.ts> [options]",
  options: {
    to: option("url", "forward everything there; replaces a config"),
    "to-framing": option("name", "framing for --to", { values: framings }),
    "to-connections": option("number", "connection limit for --to (default 32 for stdio:)"),
    ...tlsOptions,
    ...wireOptions,
    ...playgroundOption,
    ...metricsOption,
    ...logOption,
    ...workerOptions,
    ...guardOptions,
  },
  examples: [
    [
      "callwire gateway ./gateway.json --port 8080",
      "many servers behind one address; SIGHUP reloads the config",
    ],
    [
      'callwire gateway --to "stdio:callwire demo --stdio"',
      "a program over HTTP and WebSocket, one process per connection",
    ],
    ["callwire gateway --to http://localhost:8000/rpc --stdio", "a remote server as a program"],
  ],
  async run(given, positionals) {
    const [path, extra] = positionals;
    refuseExtra("gateway", extra);
    if (path !== undefined && given.to !== undefined) {
      throw new Failure("--to cannot be combined with a config; remove one");
    }
    for (const [flag, setting] of bridgeSettings) {
      if (path !== undefined && given[flag] !== undefined)
        throw new Failure(`--${flag} needs --to; in a config, set "${setting}" of the upstream`);
    }
    if (path === undefined && given.to === undefined) {
      throw new Failure('gateway needs a config or --to; see "callwire gateway --help"');
    }
    refuseWithoutHttp(given);
    await useClientTls(given);
    let started = (): void => {};
    let reloaded = new Promise<void>((resolve) => {
      started = resolve;
    });
    let reading: AbortController | undefined;
    if (path !== undefined && !startsWorkers(given)) {
      // Handled before the upstreams connect: an unhandled SIGHUP would end the process.
      process.on("SIGHUP", () => {
        // Reload in order, so that the last config wins; abort a module that hangs.
        reading?.abort(new Error("another reload began while the module was loading"));
        reloaded = reloaded.then(() => {
          reading = new AbortController();
          return reload(server, path, read, begun, log);
        });
      });
    }
    const reader = new ConfigReader();
    const read = async (): Promise<LoadedConfig> =>
      path === undefined ? bridgeTo(given, reader) : reader.read(path, reading?.signal);
    const begun = await read();
    // Options win over the config.
    const flags = { ...given, ...begun.flags, ...defined(given) };
    const log = logIn(logFormatOf(flags.log));
    if (startsWorkers(flags)) {
      await runWorkers(flags, path, log, await metricsOf(flags));
      return;
    }
    const settings = settingName(given, begun);
    const tls = await serverTlsOf(flags, settings);
    const { options } = begun;
    const { metrics, use, pages } = await metricsOf(flags);
    const server = await create(begun, {
      log: warningsOf(log),
      ...options,
      use: [...use, ...(await guardsOf(flags, settings)), ...(options.use ?? [])],
    });
    metrics?.targets(() => server.targets());
    started();
    const versions = (options.versions ?? ["2.0"]).join(" and ");
    const mount = { path: "/rpc", server, versions: `JSON-RPC ${versions}` };
    await serveUntilStopped([mount], flags, {
      pages,
      playground: flags.playground === true,
      ready: () => server.readiness(),
      ...(tls && { tls }),
    });
  },
});

/** One upstream for all methods; each caller has its own connection, so that the server can call back. */
async function bridgeTo(
  flags: Readonly<Record<"to" | "to-framing" | "to-connections", string | undefined>>,
  reader: ConfigReader,
): Promise<LoadedConfig> {
  const { to: url = "", "to-framing": name, "to-connections": most } = flags;
  const framing = name === undefined ? undefined : framingOf(name, "--to-framing");
  await checkAddress(url, framing);
  const maxConnections = most === undefined ? undefined : countOf("--to-connections", most, 0);
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

async function create(loaded: LoadedConfig, options: GatewayOptions): Promise<Gateway> {
  try {
    const gateway = await createGateway(loaded.config, options);
    loaded.taken();
    return gateway;
  } catch (error) {
    throw error instanceof TypeError ? configFault(loaded, error) : error;
  }
}

/** Applies the current config; if it is invalid, logs why and keeps the previous one. */
async function reload(
  gateway: Gateway,
  path: string,
  read: () => Promise<LoadedConfig>,
  begun: LoadedConfig,
  log: Log,
): Promise<void> {
  try {
    const loaded = await read();
    const { config, lasting } = loaded;
    await gateway.configure(config).catch((error: unknown) => {
      throw error instanceof TypeError ? configFault(loaded, error) : error;
    });
    loaded.taken();
    const unchanged = Object.keys(lasting).filter((name) => lasting[name] !== begun.lasting[name]);
    const rest = unchanged.length === 0 ? "" : `; restart to change ${unchanged.join(", ")}`;
    // Functions cannot be compared.
    const guards = [begun, loaded].some(({ options }) => options.use !== undefined);
    const kept = guards ? "; restart to change `use`" : "";
    log.info({}, `reloaded ${path}${rest}${kept}`);
  } catch (error) {
    log.warn({}, `${oneLine(error)}; kept the previous config`);
  }
}
