import { dirname, extname, resolve } from "node:path";
import type {
  GatewayConfig,
  GatewayFile,
  GatewayOptions,
  RouteConfig,
  UpstreamConfig,
  UpstreamEntry,
} from "callwire/gateway";
import { Failure, oneLine } from "../failure.ts";
import { fileText } from "../files.ts";
import { schemeWithoutHeaders } from "../link-from-url.ts";
import { importModule } from "../load-module.ts";
import { JsonFault, linesOf } from "./json-lines.ts";
import {
  checkAddress,
  defined,
  type Place,
  placeAndName,
  settingFault,
  upstreamOf,
} from "./upstreams.ts";

export interface LoadedConfig {
  readonly config: GatewayConfig;
  readonly options: GatewayOptions;
  /** Settings that are also options of the command line, by the names of those. */
  readonly flags: ServingFlags;
  /** Settings that need a restart, as comparable strings. */
  readonly lasting: Readonly<Record<string, string>>;
  /** The position of a setting in the file; undefined if there is no file. */
  readonly place: Place | undefined;
  /** To be called when a gateway uses the config, so that the next one shares its upstreams. */
  taken(): void;
}

type ServingFlags = Readonly<
  Partial<
    Record<
      | "api-keys"
      | "jwks"
      | "jwt-issuer"
      | "jwt-audience"
      | "rate-limit"
      | "log"
      | "tls-cert"
      | "tls-key",
      string
    > & { metrics: boolean }
  >
>;

export function configFault({ config, place }: LoadedConfig, error: TypeError): Failure {
  const route = config.routes.indexOf(error.cause as RouteConfig);
  if (place === undefined) return new Failure(oneLine(error), { cause: error });
  const path = route < 0 ? [] : ["routes", route];
  return new Failure(`${placeAndName(place, path)}: ${oneLine(error)}`, { cause: error });
}

/** The settings of a config that are also options. */
const settings = {
  "api-keys": ["apiKeys"],
  jwks: ["jwt", "jwks"],
  "jwt-issuer": ["jwt", "issuer"],
  "jwt-audience": ["jwt", "audience"],
  "rate-limit": ["rateLimit"],
  "tls-cert": ["tls", "cert"],
  "tls-key": ["tls", "key"],
} as const;

/** Names a setting in errors: the option if it was given, or else its place in the config. */
export function settingName(
  given: Partial<Readonly<Record<keyof typeof settings, unknown>>>,
  { place }: LoadedConfig,
): (option: keyof typeof settings) => string {
  return (option) =>
    given[option] !== undefined || place === undefined
      ? `--${option}`
      : placeAndName(place, settings[option]);
}

/** Reads config files. An unchanged upstream stays the same object, so that a reload keeps its connections. */
export class ConfigReader {
  #upstreams = new Map<string, UpstreamConfig>();
  #again = false;

  /** `signal` aborts a module that never finishes loading. */
  async read(path: string, signal?: AbortSignal): Promise<LoadedConfig> {
    const isJson = extname(path) === ".json";
    const loaded = isJson
      ? await readJson(path, await fileText(path))
      : await readModule(path, this.#again, signal);
    this.#again = true;
    return this.assemble(loaded);
  }

  assemble({ file, options = {}, place, folder = "." }: Read): LoadedConfig {
    const { title, version, versions, timeoutMs, limits } = file;
    const flags = flagsOf(file, folder);
    const known = new Map<string, UpstreamConfig>();
    for (const [name, entry] of Object.entries(file.upstreams)) {
      const key = JSON.stringify([name, entry]);
      known.set(key, this.#upstreams.get(key) ?? upstreamOf(name, entry, place));
    }
    const upstreams = Object.fromEntries(
      Array.from(known, ([key, upstream]) => [JSON.parse(key)[0], upstream]),
    );
    const routes = file.routes.map((route) => defined(route) as RouteConfig);
    const { apiKeys, jwt, rateLimit, log, tls, metrics } = file;
    const lasting = { versions, timeoutMs, limits, apiKeys, jwt, rateLimit, log, tls, metrics };
    return {
      place,
      flags,
      taken: () => {
        this.#upstreams = known;
      },
      lasting: Object.fromEntries(
        Object.entries(lasting).map(([name, value]) => [name, JSON.stringify(value) ?? ""]),
      ),
      config: { upstreams, routes, info: defined({ title, version }) },
      options: {
        ...defined({ versions, timeoutMs, limits: limits && defined(limits) }),
        ...options,
      } as GatewayOptions,
    };
  }
}

interface Read {
  readonly file: GatewayFile;
  readonly options?: GatewayOptions;
  readonly place?: Place;
  /** Where relative names of files start. @default the current folder */
  readonly folder?: string;
}

function flagsOf(
  { apiKeys, jwt, rateLimit, log, tls, metrics }: GatewayFile,
  folder: string,
): ServingFlags {
  const fileAt = (name: string | undefined) => name && resolve(folder, name);
  return defined({
    "api-keys": fileAt(apiKeys),
    jwks: jwt?.jwks,
    "jwt-issuer": jwt?.issuer,
    "jwt-audience": jwt?.audience,
    "rate-limit": rateLimit,
    log: typeof log === "string" ? log : undefined,
    "tls-cert": fileAt(tls?.cert),
    "tls-key": fileAt(tls?.key),
    metrics,
  }) as ServingFlags;
}

/** Reads the text of a config file; `path` is for messages, and for relative names of files. */
export async function readJson(path: string, text: string): Promise<Read> {
  const lines = linesIn(path, text);
  const place: Place = (fault) => `${path}:${lines(fault)}`;
  return { file: await checked(JSON.parse(text), place), place, folder: dirname(path) };
}

function linesIn(path: string, text: string): ReturnType<typeof linesOf> {
  try {
    return linesOf(text);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw new Failure(`${path}:${error.line}: ${error.message}`, { cause: error });
  }
}

async function readModule(path: string, fresh: boolean, signal?: AbortSignal): Promise<Read> {
  const { name, exported } = await importModule(path, fresh, signal);
  const value = exported.default;
  if (typeof value !== "object" || value === null) {
    throw new Failure(`the default export of ${name} must be a config`);
  }
  // Only a module can contain middleware and a log.
  const { use, log, ...rest } = value as Record<string, unknown>;
  const hasLog = typeof log === "object";
  const options = defined({ use, log: hasLog ? log : undefined }) as GatewayOptions;
  const place: Place = () => path;
  checkUse(use, place);
  const file = await checked(hasLog ? rest : defined({ ...rest, log }), place);
  return { file, options, place, folder: dirname(path) };
}

function checkUse(use: unknown, place: Place): void {
  if (use === undefined) return;
  if (!Array.isArray(use)) throw settingFault(place, ["use"], "must be an array of middleware");
  const wrong = use.findIndex((each) => typeof each !== "function");
  if (wrong >= 0) throw settingFault(place, ["use", wrong], "must be a middleware function");
}

async function checked(value: unknown, place: Place): Promise<GatewayFile> {
  // Imported here, because --to needs no schema.
  const { configSchema } = await import("./schema.ts");
  const result = configSchema.safeParse(value);
  if (result.success) {
    for (const [name, entry] of Object.entries(result.data.upstreams)) {
      await checkAddresses(["upstreams", name], entry as UpstreamEntry, place);
    }
    for (const [i, { to, method }] of result.data.routes.entries()) {
      if (!Object.hasOwn(result.data.upstreams, to)) {
        throw new Failure(
          `${placeAndName(place, ["routes", i, "to"])}: the route ${JSON.stringify(method)} names an unknown upstream, ${JSON.stringify(to)}`,
        );
      }
    }
    return result.data as GatewayFile;
  }
  // Report a misspelt name before the missing one.
  const { issues } = result.error;
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const path = [...(issue?.path ?? []), ...unknown];
  const message = unknown.length > 0 ? "unknown setting" : oneLine(issue?.message ?? "is invalid");
  throw settingFault(place, path, message);
}

async function checkAddresses(
  path: readonly string[],
  { url, urls = [], durable, headers = {}, framing }: UpstreamEntry,
  place: Place,
): Promise<void> {
  if (durable !== undefined) {
    const at = [...path, "durable", "url"];
    if (!durable.url.startsWith("nats:")) throw settingFault(place, at, "must begin with nats://");
    await checkAt(durable.url, undefined, placeAndName(place, at));
  }
  if (url !== undefined) await checkAt(url, framing, placeAndName(place, [...path, "url"]));
  for (const [i, each] of urls.entries()) {
    await checkAt(each, framing, placeAndName(place, [...path, "urls", i]));
  }
  if (Object.keys(headers).length === 0) return;
  const scheme = [url ?? "", ...urls].map(schemeWithoutHeaders).find((name) => name !== undefined);
  if (scheme === undefined) return;
  const message = `do not work with ${scheme}: addresses; they are for HTTP, WebSocket and NATS`;
  throw settingFault(place, [...path, "headers"], message);
}

async function checkAt(
  url: string,
  framing: UpstreamEntry["framing"],
  place: string,
): Promise<void> {
  try {
    await checkAddress(url, framing);
  } catch (error) {
    throw new Failure(`${place}: ${oneLine(error)}`, { cause: error });
  }
}
