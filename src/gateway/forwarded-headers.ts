import type { Context } from "../protocol/context.ts";

/** Headers of one connection or message; forwarding them would break the call. */
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
 * Whether each transport writes this header itself, so that it cannot be forwarded.
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

/** The caller's headers to forward, with `Forwarded`, so that the server does not mistake the gateway for a local caller. */
export function forwardedHeaders(
  { transport }: Context,
  names: readonly string[] = [],
): Record<string, string> {
  const hop = hopOf(transport.remoteAddress);
  const headers: Record<string, string> = { forwarded: hop };
  for (const name of names) {
    const value = transport.headers[name.toLowerCase()];
    if (typeof value === "string") headers[name.toLowerCase()] = value;
  }
  // A caller's own `Forwarded` header must not hide its hop.
  if (headers.forwarded !== hop) headers.forwarded += `, ${hop}`;
  return headers;
}

/** In the format of RFC 7239. */
function hopOf(address: string | undefined): string {
  if (address === undefined) return "for=unknown";
  return address.includes(":") ? `for="[${address}]"` : `for=${address}`;
}
