const httpForms = "http://host/path or https://host/path";

/** The error for a wrong address; leaves out query and user, which may hold a secret. */
export function wrongAddress(expected: string, given: string | URL): TypeError {
  const shown = String(given).replace(/[?#].*|[^/]*@/gs, "");
  return new TypeError(`the address must be ${expected}, not ${shown || '""'}`);
}

/** Whether an address can only be resolved when it is used: code of pages also runs where there is no page, such as in builds and tests. */
export function isRelative(given: string | URL): boolean {
  return /^[./]/.test(String(given));
}

/** Undefined outside of a page. */
export function pageAddress(): string | undefined {
  return (globalThis as { location?: { href: string } }).location?.href;
}

/** The absolute address. A relative one counts from `base`, or else from the page. */
export function absoluteAddress(given: string | URL, base: string | URL | undefined): string {
  if (/^[\w+.-]+:/.test(String(given))) return String(given);
  const from = base ?? pageAddress();
  if (URL.canParse(given, from)) return new URL(given, from).href;
  throw wrongAddress("absolute where there is no page and no baseUrl", given);
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
