import type { HeaderRecord } from "./client-exchange.ts";

/** The ways to compress a body that this library knows, by their names in HTTP. */
export type Coding = "zstd" | "br" | "gzip";

/** A body as it was sent: a string, or bytes if it was compressed. */
export type SentBody = string | Uint8Array;

/** Shorter texts fit into one packet, so compressing them only costs time. */
export const compressedFromLength = 1024;

/** How a body is compressed according to its Content-Encoding, known here or not; undefined if it is not compressed. */
export function codingOf(header: string | undefined): string | undefined {
  const name = header?.trim().toLowerCase();
  if (name === undefined || name === "identity") return undefined;
  return name === "x-gzip" ? "gzip" : name;
}

/** The headers of a reply that is compressed for some clients, and for this one if there is a coding. */
export function codedHeaders(
  headers: HeaderRecord | undefined,
  coding: Coding | undefined,
): HeaderRecord {
  const vary = headers?.vary === undefined ? "accept-encoding" : `${headers.vary}, accept-encoding`;
  return coding === undefined
    ? { ...headers, vary }
    : { ...headers, vary, "content-encoding": coding };
}

/** The first of the offered codings that the client prefers according to its Accept-Encoding; undefined for none. */
export function acceptedCoding(
  header: string | undefined,
  offered: readonly Coding[],
): Coding | undefined {
  if (header === undefined) return undefined;
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";");
    weights.set(name.trim(), weightOf(parameters));
  }
  let best: Coding | undefined;
  let most = 0;
  for (const coding of offered) {
    const weight = weights.get(coding) ?? weights.get("*") ?? 0;
    if (weight <= most) continue;
    best = coding;
    most = weight;
  }
  return most >= (weights.get("identity") ?? 0) ? best : undefined;
}

/** A weight that is not a number between 0 and 1 counts as 0. */
function weightOf(parameters: readonly string[]): number {
  const given = parameters.map((each) => each.trim()).find((each) => each.startsWith("q="));
  if (given === undefined) return 1;
  return /^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(given) ? Number(given.slice(2)) : 0;
}
