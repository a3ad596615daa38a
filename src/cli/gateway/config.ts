import { extname } from "node:path";
import type { Link, Service } from "callwire";
import type {
  GatewayConfig,
  GatewayFile,
  GatewayOptions,
  RouteConfig,
  UpstreamConfig,
  UpstreamEntry,
} from "callwire/gateway";
import { Failure, oneLine } from "../failure.ts";
import { lazyLink } from "../lazy-link.ts";
import { linkFromUrl } from "../link-from-url.ts";
import { importModule } from "../load-module.ts";
import { fileText } from "../params.ts";
import { checkAddress, namedAddresses } from "./address.ts";
import { balanceKey } from "./balance-key.ts";
import { lineOf, lineOfParseError } from "./json-lines.ts";
import { plainLog } from "./plain-log.ts";
import { prefixedOutput } from "./prefixed-output.ts";
import { configSchema } from "./schema.ts";

/** All that a config file says. */
export interface LoadedConfig {
  readonly config: GatewayConfig;
  readonly options: GatewayOptions;
  /** What a gateway that runs keeps as it is, in a form that can be compared. */
  readonly lasting: Readonly<Record<string, string>>;
  /** Where in the file something stands; undefined where there is no file. */
  readonly place: Place | undefined;
}

type Place = (path: readonly PropertyKey[]) => string;

/** What a gateway has against a config, with the place of it. */
export function configFault({ config, place }: LoadedConfig, error: TypeError): Failure {
  const route = config.routes.indexOf(error.cause as RouteConfig);
  const at = place === undefined ? "" : `${place(route < 0 ? [] : ["routes", route])}: `;
  return new Failure(at + oneLine(error), { cause: error });
}

/**
 * Reads config files of a gateway. An upstream that is the same in two files in a row is the same
 * object, so that the gateway keeps its connections when the config is read again.
 */
export class ConfigReader {
  #upstreams = new Map<string, UpstreamConfig>();
  #again = false;

  async read(path: string): Promise<LoadedConfig> {
    const isJson = extname(path) === ".json";
    const loaded = isJson ? await readJson(path) : await readModule(path, this.#again);
    this.#again = true;
    return this.assemble(loaded);
  }

  assemble({ file, options = {}, place }: Read): LoadedConfig {
    const { title, version, versions, timeoutMs, limits } = file;
    const before = this.#upstreams;
    this.#upstreams = new Map();
    for (const [name, entry] of Object.entries(file.upstreams)) {
      const key = JSON.stringify([name, entry]);
      this.#upstreams.set(key, before.get(key) ?? upstreamOf(name, entry, place));
    }
    const upstreams = Object.fromEntries(
      Array.from(this.#upstreams, ([key, upstream]) => [JSON.parse(key)[0], upstream]),
    );
    const routes = file.routes.map((route) => defined(route) as RouteConfig);
    const lasting = { versions, timeoutMs, limits };
    return {
      place,
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
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const line = lineOfParseError(text, error);
    const where = line === undefined ? path : `${path}:${line}`;
    throw new Failure(`${where}: this is not JSON (${oneLine(error)})`, { cause: error });
  }
  const place: Place = (fault) => `${path}:${lineOf(text, fault)}`;
  return { file: await checked(value, place), place };
}

async function readModule(path: string, fresh: boolean): Promise<Read> {
  const { name, exported } = await importModule(path, fresh);
  const value = exported.default;
  if (typeof value !== "object" || value === null) {
    throw new Failure(`${name} exports no config by default`);
  }
  // Middleware cannot stand in JSON, so a module may hand it over beside the rest.
  const { use, log, ...rest } = value as Record<string, unknown>;
  const options = defined({ use, log }) as GatewayOptions;
  const place: Place = () => path;
  return { file: await checked(rest, place), options, place };
}

async function checked(value: unknown, place: Place): Promise<GatewayFile> {
  const result = configSchema.safeParse(value);
  if (result.success) {
    for (const [name, { url, urls }] of Object.entries(result.data.upstreams)) {
      const path = ["upstreams", name];
      if (url !== undefined) await checkAt(url, place([...path, "url"]));
      for (const [i, each] of (urls ?? []).entries()) {
        await checkAt(each, place([...path, "urls", i]));
      }
    }
    for (const [i, { to, method }] of result.data.routes.entries()) {
      if (!Object.hasOwn(result.data.upstreams, to)) {
        const sentence = `the route ${JSON.stringify(method)} leads to ${JSON.stringify(to)}, which is no upstream`;
        throw new Failure(`${place(["routes", i, "to"])}: ${sentence}`);
      }
    }
    return result.data as GatewayFile;
  }
  const [issue] = result.error.issues;
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const path = [...(issue?.path ?? []), ...unknown];
  const name = path.length === 0 ? "the config" : path.join(".");
  const sentence = unknown.length > 0 ? "is no setting" : oneLine(issue?.message ?? "is wrong");
  throw new Failure(`${place(path)}: ${name}: ${sentence}`);
}

async function checkAt(url: string, place: string): Promise<void> {
  try {
    await checkAddress(url);
  } catch (error) {
    throw new Failure(`${place}: ${oneLine(error)}`, { cause: error });
  }
}

function upstreamOf(name: string, entry: UpstreamEntry, place: Place | undefined): UpstreamConfig {
  const { url, urls = url === undefined ? [] : [url], balance, headers, ...rest } = entry;
  const sent = Object.fromEntries(
    Object.entries(headers ?? {}).map(([key, value]) => {
      const at = place?.(["upstreams", name, "headers", key]) ?? "the config";
      return [key, fromEnvironment(value, `${at}: the upstream "${name}"`)];
    }),
  );
  const targets = Object.fromEntries(
    namedAddresses(urls).map(([shown, address]) => [
      shown,
      (service?: Service): Link =>
        lazyLink(() =>
          linkFromUrl(address, {
            stderr: prefixedOutput(name, (bytes) => process.stderr.write(bytes)),
            headers: /^wss?:/.test(address) ? { ...sent, forwarded: "for=unknown" } : sent,
            ...(service === undefined ? undefined : { service }),
            // Whether to try again is for the gateway to say, which knows of other targets.
            reconnect: { attempts: 0 },
          }),
        ),
    ]),
  );
  return {
    ...defined(rest),
    targets,
    ...(balance === undefined
      ? undefined
      : { balance: typeof balance === "string" ? balance : { key: balanceKey(balance.by) } }),
  } as UpstreamConfig;
}

/** Secrets do not belong in config files. */
function fromEnvironment(value: string, who: string): string {
  return value.replace(/\$\{?([A-Z_][A-Z0-9_]*)\}?/g, (_, variable: string) => {
    const found = process.env[variable];
    if (found !== undefined) return found;
    throw new Failure(`${who} needs the environment variable ${variable}`);
  });
}

function defined<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}
