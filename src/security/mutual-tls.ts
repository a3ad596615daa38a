import type { PeerCertificate, Principal } from "../protocol/origin.ts";
import type { Credential } from "./credential.ts";
import { unauthenticated } from "./refusals.ts";

export interface MutualTlsOptions {
  /**
   * Who shows this certificate; undefined refuses it.
   * @default the first URI among its alternative names, else the first DNS name, else the first e-mail address
   */
  readonly principalOf?: (certificate: PeerCertificate) => Principal | undefined;
}

const refused = unauthenticated("a certificate that names nobody");
const kinds = ["URI:", "DNS:", "email:"];

/**
 * Takes the caller's certificate, on HTTPS, WSS and TLS sockets. The server must ask for one: its
 * `tls` has `requestCert: true` and a `ca` of its own.
 * @example
 * ```ts
 * import { readFileSync } from "node:fs";
 * import { createServer } from "callwire";
 * import { serveHttp } from "callwire/http/node";
 * import { authenticate, mutualTls } from "callwire/security";
 *
 * const [ca, cert, key] = ["ca.pem", "cert.pem", "key.pem"].map((name) => readFileSync(name));
 * const guarded = createServer(methods, { use: [authenticate(mutualTls())] });
 * await serveHttp(guarded, { tls: { ca, cert, key, requestCert: true } });
 * ```
 */
export function mutualTls({ principalOf = fromNames }: MutualTlsOptions = {}): Credential {
  return {
    verify({ certificate }) {
      return certificate === undefined ? undefined : (principalOf(certificate) ?? refused);
    },
  };
}

function fromNames({ subjectAltNames }: PeerCertificate): Principal | undefined {
  for (const kind of kinds) {
    const name = subjectAltNames.find((entry) => entry.startsWith(kind));
    if (name !== undefined) return { id: name.slice(kind.length) };
  }
  return undefined;
}
