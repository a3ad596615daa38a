import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import type { PeerCertificate } from "../protocol/origin.ts";

const known = new WeakMap<TLSSocket, PeerCertificate | undefined>();

/** The verified certificate of a TLS peer; undefined if there is none. */
export function peerCertificate(socket: Duplex): PeerCertificate | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  // A connection carries many requests, and decoding takes longer than answering one.
  if (!known.has(socket)) known.set(socket, certificateOf(socket));
  return known.get(socket);
}

function certificateOf(socket: TLSSocket): PeerCertificate | undefined {
  const { subject, subjectaltname = "", fingerprint256 } = socket.getPeerCertificate();
  // Without a certificate Node returns an empty object.
  if (fingerprint256 === undefined) return undefined;
  const { CN: name } = subject ?? {};
  return {
    subjectAltNames: namesOf(subjectaltname),
    // An array if the certificate has several names; none takes precedence.
    commonName: typeof name === "string" ? name : undefined,
    fingerprint: fingerprint256,
  };
}

/** Node joins names with commas, and quotes those that contain one. */
function namesOf(joined: string): string[] {
  return Array.from(joined.matchAll(/([^:,]+):("(?:\\.|[^"\\])*"|[^,]*)(?:, |$)/g), (match) => {
    const [, kind = "", value = ""] = match;
    return `${kind}:${value.startsWith('"') ? (JSON.parse(value) as string) : value}`;
  });
}
