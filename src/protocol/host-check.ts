export interface HostCheckOptions {
  /**
   * The names by which this server may be addressed, with or without a port; stops a page whose name
   * was rebound to this address. @default localhost, 127.0.0.1 and [::1], with any port
   */
  readonly hosts?: readonly string[] | "any";
  /**
   * Origins of pages that may call, besides those of this server; stops pages from calling on behalf
   * of whoever visits them. @default none
   */
  readonly origins?: readonly string[] | ((origin: string) => boolean);
}

const loopback = ["localhost", "127.0.0.1", "[::1]"];

/** What a request says about where it comes from. */
export interface RequestSource {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The header `Sec-Fetch-Site`, which no page can set. */
  readonly site: string | undefined;
}

/** Decides whose requests are heard, before anything else is looked at. */
export class HostCheck {
  readonly #hosts: ReadonlySet<string> | undefined;
  readonly #isListed: (origin: string) => boolean;
  /** The host that passed last; nearly every request names the same. */
  #passed: string | undefined;

  /** `bound` is the address that the server listens on. */
  constructor(options: HostCheckOptions, bound?: string) {
    const { hosts = bound === undefined ? loopback : [...loopback, bound], origins = [] } = options;
    if (hosts !== "any" && !Array.isArray(hosts)) {
      throw new TypeError(`hosts is "any" or a list of names, not ${JSON.stringify(hosts)}`);
    }
    if (typeof origins !== "function" && !Array.isArray(origins)) {
      throw new TypeError(`origins is a list or a function, not ${JSON.stringify(origins)}`);
    }
    this.#hosts = hosts === "any" ? undefined : new Set(hosts.map((host) => host.toLowerCase()));
    if (typeof origins === "function") this.#isListed = steady(origins);
    else {
      const listed = new Set(origins.map((origin) => origin.toLowerCase()));
      this.#isListed = (origin) => listed.has(origin.toLowerCase());
    }
  }

  /** One sentence on why a request is not heard, or undefined. */
  refusal({ host, origin, site }: RequestSource): string | undefined {
    if (host !== this.#passed || host === undefined) {
      if (!this.#knows(host)) return "this server does not go by the name in the Host header";
      this.#passed = host;
    }
    if (origin === undefined) {
      // A GET may come without an origin; browsers say by other means that another site sent it.
      return site === undefined || site === "same-origin" || site === "none"
        ? undefined
        : "pages of other sites may not call";
    }
    if (this.allows(origin)) return undefined;
    if (site !== "cross-site" && isSame(origin, host)) return undefined;
    return "pages of this origin may not call";
  }

  /** Whether pages of another origin may read replies. */
  allows(origin: string | undefined): origin is string {
    // Sandboxed frames and local files all share the origin "null".
    return origin !== undefined && origin !== "null" && this.#isListed(origin);
  }

  #knows(host: string | undefined): boolean {
    if (this.#hosts === undefined) return true;
    if (host === undefined) return false;
    const name = host.toLowerCase();
    return this.#hosts.has(name) || this.#hosts.has(name.replace(/:\d{1,5}$/, ""));
  }
}

/** Any text can come as an origin, also one that a rule does not expect; what makes it throw is not listed. */
function steady(isListed: (origin: string) => boolean): (origin: string) => boolean {
  return (origin) => {
    try {
      return isListed(origin) === true;
    } catch {
      return false;
    }
  };
}

function isSame(origin: string, host: string | undefined): boolean {
  const [scheme, authority] = origin.toLowerCase().split("://");
  return (scheme === "http" || scheme === "https") && authority === host?.toLowerCase();
}
