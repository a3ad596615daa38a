import { isThenable } from "../protocol/message.ts";
import type { Principal } from "../protocol/origin.ts";
import type { VerifyToken } from "./bearer.ts";
import type { Credential } from "./credential.ts";
import { unauthenticated } from "./refusals.ts";

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
  /** The wires on which it counts. @default ["stdio", "unix"] */
  readonly wires?: readonly string[];
}

/**
 * Takes a token from the environment of this process, where whoever started it says on whose behalf
 * it runs. It is read at each connection; where it is missing, nobody is there.
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
