import { extname } from "node:path";
import type {
  GatewayConfig,
  GatewayFile,
  GatewayOptions,
  RouteConfig,
  UpstreamConfig,
  UpstreamEntry,
} from "callwire/gateway";
import { Failure, oneLine } from "../failure.ts";
import { schemeWithoutHeaders } from "../link-from-url.ts";
import { importModule } from "../load-module.ts";
import { fileText } from "../params.ts";
import { JsonFault, linesOf } from "./json-lines.ts";
import { plainLog } from "./output.ts";
import { configSchema } from "./schema.ts";
import { checkAddress, defined, type Place, settingFault, upstreamOf } from "./upstreams.ts";

/** All that a config file says. */
export interface LoadedConfig {
  readonly config: GatewayConfig;
  readonly options: GatewayOptions;
  /** What a gateway that runs keeps as it is, in a form that can be compared. */
  readonly lasting: Readonly<Record<string, string>>;
  /** Where in the file something stands; undefined where there is no file. */
  readonly place: Place | undefined;
  /** Said when a gateway has taken it, so that the next config shares upstreams with this one. */
  taken(): void;
}

/** What a gateway has against a config, with the place of it. */
export function configFault({ config, place }: LoadedConfig, error: TypeError): Failure {
  const route = config.routes.indexOf(error.cause as RouteConfig);
  const at = place === undefined ? "" : `${place(route < 0 ? [] : ["routes", route])}: `;
  return new Failure(at + oneLine(error), { cause: error });
}

/**
 * Reads config files of a gateway. An upstream that is the same as in the file that was taken last is the
 * same object, so that the gateway keeps its connections when the config is read again.
 */
export class ConfigReader {
  #upstreams = new Map<string, UpstreamConfig>();
  #again = false;

  /** `signal` gives up a module that awaits what does not come. */
  async read(path: string, signal?: AbortSignal): Promise<LoadedConfig> {
    const isJson = extname(path) === ".json";
    const loaded = isJson ? await readJson(path) : await readModule(path, this.#again, signal);
    this.#again = true;
    return this.assemble(loaded);
  }

  assemble({ file, options = {}, place }: Read): LoadedConfig {
    const { title, version, versions, timeoutMs, limits } = file;
    const known = new Map<string, UpstreamConfig>();
    for (const [name, entry] of Object.entries(file.upstreams)) {
      const key = JSON.stringify([name, entry]);
      known.set(key, this.#upstreams.get(key) ?? upstreamOf(name, entry, place));
    }
    const upstreams = Object.fromEntries(
      Array.from(known, ([key, upstream]) => [JSON.parse(key)[0], upstream]),
    );
    const routes = file.routes.map((route) => defined(route) as RouteConfig);
    const lasting = { versions, timeoutMs, limits };
    return {
      place,
      taken: () => {
        this.#upstreams = known;
      },
      lasting: Object.fromEntries(
        Object.entries(lasting).map(([name, value]) => [name, JSON.stringify(value) ?? ""]),
      ),
      config: { upstreams, routes, info: defined({ title, version }) },
      options: {
        log: plainLog,
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
}

async function readJson(path: string): Promise<Read> {
  const text = await fileText(path);
  const lines = linesIn(path, text);
  const place: Place = (fault) => `${path}:${lines(fault)}`;
  return { file: await checked(JSON.parse(text), place), place };
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
    throw new Failure(`${name} exports no config by default`);
  }
  // Middleware cannot stand in JSON, so a module may hand it over beside the rest.
  const { use, log, ...rest } = value as Record<string, unknown>;
  const options = defined({ use, log }) as GatewayOptions;
  const place: Place = () => path;
  checkUse(use, place);
  return { file: await checked(rest, place), options, place };
}

function checkUse(use: unknown, place: Place): void {
  if (use === undefined) return;
  if (!Array.isArray(use)) throw settingFault(place, ["use"], "is a list of middleware");
  const wrong = use.findIndex((each) => typeof each !== "function");
  if (wrong >= 0)
    throw settingFault(place, ["use", wrong], "is no middleware, which is a function");
}

async function checked(value: unknown, place: Place): Promise<GatewayFile> {
  const result = configSchema.safeParse(value);
  if (result.success) {
    for (const [name, entry] of Object.entries(result.data.upstreams)) {
      await checkAddresses(["upstreams", name], entry as UpstreamEntry, place);
    }
    for (const [i, { to, method }] of result.data.routes.entries()) {
      if (!Object.hasOwn(result.data.upstreams, to)) {
        const sentence = `the route ${JSON.stringify(method)} leads to ${JSON.stringify(to)}, which is no upstream`;
        throw new Failure(`${place(["routes", i, "to"])}: ${sentence}`);
      }
    }
    return result.data as GatewayFile;
  }
  // A name that is misspelt comes before the one that is then missing.
  const { issues } = result.error;
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const path = [...(issue?.path ?? []), ...unknown];
  const sentence = unknown.length > 0 ? "is no setting" : oneLine(issue?.message ?? "is wrong");
  throw settingFault(place, path, sentence);
}

async function checkAddresses(
  path: readonly string[],
  { url, urls = [], headers = {}, framing }: UpstreamEntry,
  place: Place,
): Promise<void> {
  if (url !== undefined) await checkAt(url, framing, place([...path, "url"]));
  for (const [i, each] of urls.entries()) {
    await checkAt(each, framing, place([...path, "urls", i]));
  }
  if (Object.keys(headers).length === 0) return;
  const scheme = [url ?? "", ...urls].map(schemeWithoutHeaders).find((name) => name !== undefined);
  if (scheme === undefined) return;
  const sentence = `are for HTTP, WebSocket and NATS; ${scheme}: has no headers`;
  throw settingFault(place, [...path, "headers"], sentence);
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
