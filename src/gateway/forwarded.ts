import type { Context } from "../protocol/context.ts";

/** What goes on of the caller's headers, and word that it comes from elsewhere: a gateway is no local caller. */
export function forwarded(
  { transport }: Context,
  names: readonly string[] = [],
): Record<string, string> {
  const headers: Record<string, string> = { forwarded: hopOf(transport.remoteAddress) };
  for (const name of names) {
    const value = transport.headers[name.toLowerCase()];
    if (typeof value === "string") headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** As RFC 7239 writes it. */
function hopOf(address: string | undefined): string {
  if (address === undefined) return "for=unknown";
  return address.includes(":") ? `for="[${address}]"` : `for=${address}`;
}
