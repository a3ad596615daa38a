import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import type { PeerCertificate } from "../protocol/origin.ts";

const known = new WeakMap<TLSSocket, PeerCertificate | undefined>();

/** What the other end of a TLS socket showed; undefined where it showed nothing that holds. */
export function peerCertificate(socket: Duplex): PeerCertificate | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  // A connection carries many requests, and decoding takes longer than answering one.
  if (!known.has(socket)) known.set(socket, certificateOf(socket));
  return known.get(socket);
}

function certificateOf(socket: TLSSocket): PeerCertificate | undefined {
  const { subject, subjectaltname = "", fingerprint256 } = socket.getPeerCertificate();
  // Without a certificate there is an empty object.
  if (fingerprint256 === undefined) return undefined;
  const { CN: name } = subject ?? {};
  return {
    subjectAltNames: namesOf(subjectaltname),
    // A list where the certificate has several, of which none is better than the others.
    commonName: typeof name === "string" ? name : undefined,
    fingerprint: fingerprint256,
  };
}

/** Node joins names with commas, and quotes those that hold one, so that none can pass for two. */
function namesOf(joined: string): string[] {
  return Array.from(joined.matchAll(/([^:,]+):("(?:\\.|[^"\\])*"|[^,]*)(?:, |$)/g), (match) => {
    const [, kind = "", value = ""] = match;
    return `${kind}:${value.startsWith('"') ? (JSON.parse(value) as string) : value}`;
  });
}
