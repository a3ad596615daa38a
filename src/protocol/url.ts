const httpForms = "http(s)://host/path";

/** The error for a wrong address; leaves out query and user, which may hold a secret. */
export function wrongAddress(expected: string, given: string | URL): TypeError {
  const shown = String(given).replace(/[?#].*|[^/]*@/gs, "");
  return new TypeError(`the address must be ${expected}, not ${shown || '""'}`);
}

/** Whether an address can only be resolved when it is used: code of pages also runs where there is no page, such as in builds and tests. */
export function isRelative(given: string | URL): boolean {
  return /^[./]/.test(String(given));
}

/** The absolute address. A relative one counts from `base`, or else from the page; a custom `fetch` may need neither. */
export function absoluteAddress(
  given: string | URL,
  base: string | URL | undefined,
  customFetch?: object,
): string {
  const address = String(given);
  if (/^[\w+.-]+:/.test(address)) return address;
  const { location: page } = globalThis as { location?: { href: string } };
  const from = base ?? page?.href;
  if (URL.canParse(address, from)) return new URL(address, from).href;
  if (customFetch) return address;
  throw wrongAddress("absolute without a page or baseUrl", address);
}

/** A URL for `fetch`, which may be relative to a page. */
export function fetchAddress(given: string | URL): string {
  const address = String(given);
  if (/^(?!https?:)[\w+.-]+:/i.test(address)) throw wrongAddress(httpForms, address);
  return address;
}

/** An absolute HTTP URL without credentials. */
export function httpUrl(given: string | URL): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw wrongAddress(httpForms, given);
  if (url.username !== "") throw new TypeError("put credentials into headers, not into the URL");
  return url;
}
