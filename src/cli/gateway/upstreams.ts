import { basename } from "node:path";
import type { Context, Link, Request, Service } from "callwire";
import { isWireHeader, type UpstreamConfig, type UpstreamEntry } from "callwire/gateway";
import type { FramingName } from "../command-arguments.ts";
import { Failure } from "../failure.ts";
import { memberOf } from "../json-values.ts";
import { lazyLink } from "../lazy-link.ts";
import { linkFromUrl, splitWords } from "../link-from-url.ts";
import { filled } from "../named-servers.ts";
import { durableLinkFromUrl } from "../nats-link.ts";
import { prefixedOutput } from "./prefixed-output.ts";

export type Place = (path: readonly PropertyKey[]) => string;

/** Checks an address without connecting; throws a Failure with the reason. */
export async function checkAddress(url: string, framing?: FramingName): Promise<void> {
  const link = await linkFromUrl(url, { framing });
  await link.close();
}

/** An address for logs and metrics, without secrets. */
function shownAddress(url: string): string {
  const program = programOf(url);
  if (program !== undefined) return `stdio:${program}`;
  if (url.startsWith("unix:")) return url;
  // Several hosts are not a valid URL.
  if (url.startsWith("nats:"))
    return url.replace(/^nats:\/\/(?:[^/?#]*@)?([^?#]*).*$/, "nats://$1");
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

export function nameOf(url: string): string {
  const program = programOf(url);
  return program === undefined ? "behind" : basename(program);
}

function namedAddresses(urls: readonly string[]): [name: string, url: string][] {
  const counts = new Map<string, number>();
  return urls.map((url) => {
    const shown = shownAddress(url);
    const count = (counts.get(shown) ?? 0) + 1;
    counts.set(shown, count);
    return [count === 1 ? shown : `${shown} (${count})`, url];
  });
}

function programOf(url: string): string | undefined {
  return url.startsWith("stdio:") ? splitWords(url.slice("stdio:".length))[0] : undefined;
}

/** Reads the balancing key `params.user.id`, `principal` or `header.x-tenant`; undefined for others. */
function balanceKey(
  by: string,
): ((request: Request, context: Context) => string | undefined) | undefined {
  const [source, ...path] = by.split(".");
  switch (source) {
    case "params":
      return ({ params }) => textOf(path.reduce<unknown>(memberOf, params));
    case "principal":
      if (path.length === 0) return (_, { principal }) => principal?.id;
      break;
    case "header":
      if (path.length > 0) {
        const name = path.join(".").toLowerCase();
        return (_, { transport }) => textOf(transport.headers[name]);
      }
  }
  return undefined;
}

function textOf(value: unknown): string | undefined {
  return value === undefined
    ? undefined
    : typeof value === "string"
      ? value
      : JSON.stringify(value);
}

/** Where a setting is and what it is: `gateway.json:7: routes.0.to`. */
export function placeAndName(place: Place, path: readonly PropertyKey[]): string {
  const name = path.length === 0 ? "the config" : path.join(".");
  return `${place(path)}: ${name}`;
}

export function settingFault(place: Place, path: readonly PropertyKey[], message: string): Failure {
  return new Failure(`${placeAndName(place, path)}: ${message}`);
}

/** Limits the processes that anonymous callers can start. */
const maxProcesses = 32;

export function upstreamOf(
  name: string,
  entry: UpstreamEntry,
  place: Place = () => "the config",
): UpstreamConfig {
  const { durable, ...others } = entry;
  if (durable !== undefined) return durableUpstream(name, durable, others, place);
  const { url, urls = url === undefined ? [] : [url], balance, headers, framing, ...rest } = others;
  const sent = Object.fromEntries(
    Object.entries(headers ?? {}).map(([key, value]) => {
      const path = ["upstreams", name, "headers", key];
      const text = filled(value, placeAndName(place, path));
      checkHeader(place, path, key, text);
      return [key, text];
    }),
  );
  for (const [i, header] of (rest.forwardHeaders ?? []).entries()) {
    checkHeader(place, ["upstreams", name, "forwardHeaders", i], header);
  }
  const targets = Object.fromEntries(
    namedAddresses(urls).map(([shown, address]) => [
      shown,
      (service?: Service): Link =>
        lazyLink(() =>
          linkFromUrl(address, {
            stderr: prefixedOutput(name, (bytes) => process.stderr.write(bytes)),
            headers: /^wss?:/.test(address) ? { ...sent, forwarded: "for=unknown" } : sent,
            ...(service === undefined ? undefined : { service }),
            ...(framing === undefined ? undefined : { framing }),
            // The gateway retries, because it knows the other targets.
            reconnect: { attempts: 0 },
          }),
        ),
    ]),
  );
  const isProgram = urls.some((address) => address.startsWith("stdio:"));
  return {
    ...(isProgram && { maxConnections: maxProcesses }),
    ...defined(rest),
    targets,
    ...(balance === undefined ? undefined : { balance: balanceOf(name, balance, place) }),
  } as UpstreamConfig;
}

/** Stores notifications. A queue does not answer calls, so there are no health checks. */
function durableUpstream(
  name: string,
  { url, key, ...rest }: NonNullable<UpstreamEntry["durable"]>,
  others: Omit<UpstreamEntry, "durable">,
  place: Place,
): UpstreamConfig {
  const [unused] = Object.keys(defined(others));
  if (unused !== undefined)
    throw settingFault(place, ["upstreams", name, unused], 'does not apply to "durable"');
  const keyOf = key === undefined ? undefined : durableKey(name, key, place);
  return {
    targets: {
      [shownAddress(url)]: () =>
        lazyLink(() => durableLinkFromUrl(url, { ...defined(rest), ...(keyOf && { key: keyOf }) })),
    },
    healthCheck: false,
  };
}

function durableKey(name: string, key: string, place: Place) {
  const [source, ...path] = key.split(".");
  if (source === "params" && path.length > 0)
    return ({ params }: Request) => textOf(path.reduce<unknown>(memberOf, params));
  const message = `must be "params.…", not ${JSON.stringify(key)}`;
  throw settingFault(place, ["upstreams", name, "durable", "key"], message);
}

function balanceOf(
  name: string,
  balance: NonNullable<UpstreamEntry["balance"]>,
  place: Place,
): UpstreamConfig["balance"] {
  if (typeof balance === "string") return balance;
  const key = balanceKey(balance.by);
  if (key !== undefined) return { key };
  const message = `must be "params.…", "principal" or "header.…", not ${JSON.stringify(balance.by)}`;
  throw settingFault(place, ["upstreams", name, "balance", "by"], message);
}

function checkHeader(place: Place, path: readonly PropertyKey[], name: string, value = ""): void {
  if (!isHeader(name, value)) throw settingFault(place, path, "is not a valid header");
  if (isWireHeader(name))
    throw settingFault(place, path, "is set by the wire and cannot be changed");
}

function isHeader(name: string, value: string): boolean {
  try {
    return new Headers([[name, value]]).has(name);
  } catch {
    return false;
  }
}

export function defined<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}
