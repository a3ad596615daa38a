import type { Context } from "../protocol/context.ts";

/** These belong to one connection, or to one message on it; another value of them breaks a call. */
const wireHeaders = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Whether a header is written by each wire itself, so that nobody else can say what stands in it.
 * @example
 * ```ts
 * import { isWireHeader } from "callwire/gateway";
 *
 * const wanted = ["authorization", "content-length"];
 * const forwardable = wanted.filter((name) => !isWireHeader(name)); // authorization
 * ```
 */
export function isWireHeader(name: string): boolean {
  return wireHeaders.has(name.toLowerCase());
}

/** What goes on of the caller's headers, and word that it comes from elsewhere: a gateway is no local caller. */
export function forwarded(
  { transport }: Context,
  names: readonly string[] = [],
): Record<string, string> {
  const hop = hopOf(transport.remoteAddress);
  const headers: Record<string, string> = { forwarded: hop };
  for (const name of names) {
    const value = transport.headers[name.toLowerCase()];
    if (typeof value === "string") headers[name.toLowerCase()] = value;
  }
  // What a caller says of the hops before it does not hide that it is one.
  if (headers.forwarded !== hop) headers.forwarded += `, ${hop}`;
  return headers;
}

/** As RFC 7239 writes it. */
function hopOf(address: string | undefined): string {
  if (address === undefined) return "for=unknown";
  return address.includes(":") ? `for="[${address}]"` : `for=${address}`;
}
