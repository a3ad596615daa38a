import { readFileSync } from "node:fs";
import { globalAgent } from "node:https";
import { type Flags, flag, type Options, option } from "./command.ts";
import { Failure } from "./failure.ts";
import { whyUnreadable } from "./files.ts";

/** How to verify a server, and the certificate of this client. */
export const tlsOptions = {
  cacert: option("file", "certificates to trust (PEM)"),
  cert: option("file", "certificate of this client (PEM)"),
  key: option("file", "its private key (default: in --cert)"),
  insecure: flag("do not verify the server's certificate"),
} as const satisfies Options;

export interface ClientTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly rejectUnauthorized?: boolean;
}

let own: ClientTls | undefined;

/** The settings of this process, for links that have their own connections. */
export function clientTls(): ClientTls | undefined {
  return own;
}

/** Applies the options to every connection of this process, because each command calls one server. */
export async function useClientTls(flags: Partial<Flags<typeof tlsOptions>>): Promise<void> {
  const { cacert, cert, key, insecure } = flags;
  if (key !== undefined && cert === undefined) throw new Failure("--key needs --cert");
  if (cacert !== undefined && insecure === true)
    throw new Failure("--cacert cannot be combined with --insecure; remove one");
  own = {
    ...(cacert === undefined ? undefined : { ca: pem("--cacert", cacert) }),
    ...(cert === undefined
      ? undefined
      : { cert: pem("--cert", cert), key: pem("--key", key ?? cert) }),
    ...(insecure === true ? { rejectUnauthorized: false } : undefined),
  };
  if (Object.keys(own).length === 0) {
    own = undefined;
    return;
  }
  Object.assign(globalAgent.options, own);
  // For `fetch`, which uses undici's agent.
  const { Agent, setGlobalDispatcher } = await import("undici");
  setGlobalDispatcher(new Agent({ connect: own }));
}

function pem(flag: string, path: string): Buffer {
  let text: Buffer;
  try {
    text = readFileSync(path);
  } catch (error) {
    throw new Failure(`${flag}: ${whyUnreadable(path, error)}`, { cause: error });
  }
  if (!text.includes("-----BEGIN ")) throw new Failure(`${flag}: ${path} is not a PEM file`);
  return text;
}
