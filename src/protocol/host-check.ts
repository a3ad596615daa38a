import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import { RareWarning } from "./rare-warning.ts";

export interface HostCheckOptions {
  /**
   * Host names, with or without a port, by which this server may be addressed; stops DNS rebinding. @default
   * localhost, 127.0.0.1 and [::1], with any port
   */
  readonly hosts?: readonly string[] | "any";
  /**
   * Origins of web pages that may call, besides the server's own; stops pages from calling on behalf of their
   * visitors. @default none
   */
  readonly origins?: readonly string[] | ((origin: string) => boolean);
}

const loopback = ["localhost", "127.0.0.1", "[::1]"];

/** Where refused requests are logged. */
interface RefusalLog {
  readonly log: Log;
  readonly running: { readonly clock: Clock };
}

/** Longest header in a line or reply, in characters; callers choose it. */
const longestHeader = 128;

/** The headers that show where a request comes from. */
export interface RequestSource {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The header `Sec-Fetch-Site`, which pages cannot set. */
  readonly site: string | undefined;
}

/** Checks Host and Origin of a request before anything else. */
export class HostCheck {
  readonly #hosts: ReadonlySet<string> | undefined;
  readonly #isListed: (origin: string) => boolean;
  /** The last accepted host; nearly every request names the same. */
  #passed: string | undefined;

  readonly #refused: RareWarning;

  /** `bound` is the address that the server listens on. */
  constructor(service: RefusalLog, options: HostCheckOptions, bound?: string) {
    const { log, running } = service;
    const message = "request refused because of its Host or Origin header";
    this.#refused = new RareWarning(log, running.clock, message);
    const { hosts = bound === undefined ? loopback : [...loopback, bound], origins = [] } = options;
    if (hosts !== "any" && !Array.isArray(hosts)) {
      throw new TypeError(`hosts must be "any" or an array of names, not ${JSON.stringify(hosts)}`);
    }
    if (typeof origins !== "function" && !Array.isArray(origins)) {
      throw new TypeError(`origins must be an array or a function, not ${JSON.stringify(origins)}`);
    }
    this.#hosts = hosts === "any" ? undefined : new Set(hosts.map((host) => host.toLowerCase()));
    if (typeof origins === "function") this.#isListed = safe(origins);
    else {
      const listed = new Set(origins.map((origin) => origin.toLowerCase()));
      this.#isListed = (origin) => listed.has(origin.toLowerCase());
    }
  }

  /** Why a request is refused, or undefined. A refusal is logged. */
  refusal(source: RequestSource): string | undefined {
    const reason = this.#refusal(source);
    const { host, origin } = source;
    if (reason !== undefined)
      this.#refused.warn({ host: short(host), origin: short(origin), reason });
    return reason;
  }

  #refusal({ host, origin, site }: RequestSource): string | undefined {
    if (host !== this.#passed || host === undefined) {
      if (!this.#knows(host))
        return `this server does not serve the host name ${short(host)}; see the hosts option (--hosts)`;
      this.#passed = host;
    }
    if (origin === undefined) {
      // A GET may have no Origin header; then browsers mark a cross-site request with Sec-Fetch-Site.
      return site === undefined || site === "same-origin" || site === "none"
        ? undefined
        : "this server does not serve pages of other sites; see the origins option";
    }
    if (this.allows(origin)) return undefined;
    if (site !== "cross-site" && isSame(origin, host)) return undefined;
    return `this server does not serve pages of ${short(origin)}; see the origins option`;
  }

  /** Whether pages of this origin may read replies. */
  allows(origin: string | undefined): origin is string {
    // Sandboxed frames and local files share the origin "null".
    return origin !== undefined && origin !== "null" && this.#isListed(origin);
  }

  #knows(host: string | undefined): boolean {
    if (this.#hosts === undefined) return true;
    if (host === undefined) return false;
    const name = host.toLowerCase();
    return this.#hosts.has(name) || this.#hosts.has(name.replace(/:\d{1,5}$/, ""));
  }
}

function short(header: string | undefined): string | undefined {
  return header === undefined || header.length <= longestHeader
    ? header
    : `${header.slice(0, longestHeader)}…`;
}

/** An origin header can hold any string; if the function throws, the origin is not listed. */
function safe(isListed: (origin: string) => boolean): (origin: string) => boolean {
  return (origin) => {
    try {
      return isListed(origin) === true;
    } catch {
      return false;
    }
  };
}

function isSame(origin: string, host: string | undefined): boolean {
  if (host === undefined) return false;
  // Browsers write both in lower case.
  if (origin === `http://${host}` || origin === `https://${host}`) return true;
  const [scheme, authority] = origin.toLowerCase().split("://");
  return (scheme === "http" || scheme === "https") && authority === host.toLowerCase();
}
