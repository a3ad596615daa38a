import type { PeerCertificate, Principal } from "../protocol/origin.ts";
import { unauthenticated } from "./access-errors.ts";
import { type VerifyToken, verifiedOr } from "./bearer.ts";
import type { Credential } from "./credential.ts";

export interface TrustedProcessOptions {
  /** The principal of such callers. @default { id: "process" } */
  readonly principal?: Principal;
  /** Kinds of transport that are trusted. Never add one that other users can reach. @default ["stdio", "unix"] */
  readonly wires?: readonly string[];
}

const ownWires = ["stdio", "unix"];

/**
 * Trusts the process that started this one, and processes that may open its unix socket. The operating
 * system has already checked their permissions.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { authenticate, trustedProcess } from "callwire/security";
 * import { serveStdio } from "callwire/stdio";
 *
 * const credential = trustedProcess({ principal: { id: "editor" } });
 * serveStdio(createServer(methods, { use: [authenticate(credential)] }));
 * ```
 */
export function trustedProcess(options: TrustedProcessOptions = {}): Credential {
  const { principal = { id: "process" }, wires = ownWires } = options;
  return { verify: ({ kind }) => (wires.includes(kind) ? principal : undefined) };
}

export interface EnvironmentTokenOptions {
  /** Kinds of transport on which the token is used. @default ["stdio", "unix"] */
  readonly wires?: readonly string[];
}

/**
 * Takes a token from an environment variable of this process, set by the program that started it. It
 * is read at each connection; without it, this credential is not present.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { authenticate, environmentToken } from "callwire/security";
 *
 * const sessions = new Map([["d2hhdCBhIHRva2Vu", { id: "ann" }]]);
 * const credential = environmentToken("RPC_TOKEN", (token) => sessions.get(token));
 * const guarded = createServer(methods, { use: [authenticate(credential)] });
 * ```
 */
export function environmentToken(
  variable: string,
  verify: VerifyToken,
  { wires = ownWires }: EnvironmentTokenOptions = {},
): Credential {
  const refused = unauthenticated(`the token in ${variable} is not valid`);
  return {
    verify({ kind }) {
      const token = wires.includes(kind) ? read(variable) : undefined;
      return token === undefined ? undefined : verifiedOr(refused, verify, token);
    },
  };
}

/** Undefined in runtimes without environment variables. */
function read(variable: string): string | undefined {
  const runtime = Reflect.get(globalThis, "process") as
    | { readonly env?: Readonly<Record<string, string | undefined>> }
    | undefined;
  const value = runtime?.env?.[variable];
  return value === "" ? undefined : value;
}

export interface MutualTlsOptions {
  /**
   * Makes a principal from the certificate; undefined refuses it.
   * @default the first URI in its alternative names, else the first DNS name, else the first e-mail address
   */
  readonly principalOf?: (certificate: PeerCertificate) => Principal | undefined;
}

const refused = unauthenticated("the certificate has no name");
const kinds = ["URI:", "DNS:", "email:"];

/**
 * Authenticates by client certificate, on HTTPS, WSS and TLS sockets. The server must ask for one, with
 * `requestCert: true` and a `ca` of your own in its `tls` options.
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
    scheme: { type: "mutualTLS" },
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
