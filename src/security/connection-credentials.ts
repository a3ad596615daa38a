import { isThenable } from "../protocol/message.ts";
import type { PeerCertificate, Principal } from "../protocol/origin.ts";
import { unauthenticated } from "./access-errors.ts";
import type { VerifyToken } from "./bearer.ts";
import type { Credential } from "./credential.ts";

export interface TrustedProcessOptions {
  /** Who is at the other end. @default { id: "process" } */
  readonly principal?: Principal;
  /** The wires that are trusted. @default ["stdio", "unix"] */
  readonly wires?: readonly string[];
}

const ownWires = ["stdio", "unix"];

/**
 * Trusts whoever started this process or may open its socket, which only its own user may: the
 * system has decided already.
 */
export function trustedProcess(options: TrustedProcessOptions = {}): Credential {
  const { principal = { id: "process" }, wires = ownWires } = options;
  return { verify: ({ kind }) => (wires.includes(kind) ? principal : undefined) };
}

export interface EnvironmentTokenOptions {
  /** The wires on which it counts. @default ["stdio", "unix"] */
  readonly wires?: readonly string[];
}

/**
 * Takes a token from the environment of this process, where whoever started it says on whose behalf
 * it runs. It is read at each connection; where it is missing, nobody is there.
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
      if (token === undefined) return undefined;
      const principal = verify(token);
      return isThenable(principal)
        ? principal.then((found) => found ?? refused)
        : (principal ?? refused);
    },
  };
}

/** Runtimes without an environment have no token in it. */
function read(variable: string): string | undefined {
  const runtime = Reflect.get(globalThis, "process") as
    | { readonly env?: Readonly<Record<string, string | undefined>> }
    | undefined;
  const value = runtime?.env?.[variable];
  return value === "" ? undefined : value;
}

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
