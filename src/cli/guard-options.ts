import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Middleware } from "callwire";
import type { Credential } from "callwire/security";
import { type Flags, type Options, option } from "./command.ts";
import { Failure, invalid, oneLine } from "./failure.ts";
import { fileText, whyUnreadable } from "./files.ts";
import { parseJson } from "./json-values.ts";

/** Who may call a server, how often, and the certificate of the server. */
export const guardOptions = {
  "tls-cert": option("file", "serve HTTPS with this certificate (PEM)", {
    env: "CALLWIRE_TLS_CERT",
  }),
  "tls-key": option("file", "its private key (PEM)", { env: "CALLWIRE_TLS_KEY" }),
  "api-keys": option("file", "require a key of this file; see callwire keys", {
    env: "CALLWIRE_API_KEYS",
  }),
  jwks: option("url", "require a JWT that is signed with one of these keys", {
    env: "CALLWIRE_JWKS",
  }),
  "jwt-issuer": option("issuer", "its issuer; required with --jwks", {
    env: "CALLWIRE_JWT_ISSUER",
  }),
  "jwt-audience": option("name", "its audience; required with --jwks", {
    env: "CALLWIRE_JWT_AUDIENCE",
  }),
  "rate-limit": option("rate", "calls of one address, such as 100/s or 600/m", {
    env: "CALLWIRE_RATE_LIMIT",
  }),
} as const satisfies Options;

type GuardFlags = Flags<typeof guardOptions>;

/** What a setting is called in errors: the option, or its place in a config. */
export type SettingName = (option: keyof GuardFlags) => string;

const optionName: SettingName = (option) => `--${option}`;

/** The middleware that enforces the options; the rate limit comes first, because it costs least. */
export async function guardsOf(
  flags: GuardFlags,
  nameOf: SettingName = optionName,
): Promise<Middleware[]> {
  const { "rate-limit": rate, "api-keys": keys, jwks } = flags;
  const credentials: Credential[] = [];
  if (keys !== undefined) credentials.push(await apiKeysIn(keys, nameOf("api-keys")));
  if (jwks !== undefined) credentials.push(await jwtFrom(jwks, flags, nameOf("jwks")));
  else if ((flags["jwt-issuer"] ?? flags["jwt-audience"]) !== undefined)
    throw new Failure("--jwt-issuer and --jwt-audience need --jwks");
  if (rate === undefined && credentials.length === 0) return [];
  const { authenticate, rateLimit } = await import("callwire/security");
  return [
    ...(rate === undefined ? [] : [rateLimit(bucketOf(rate, nameOf("rate-limit")))]),
    ...(credentials.length === 0 ? [] : [authenticate(credentials)]),
  ];
}

function bucketOf(text: string, name: string): { capacity: number; perSecond: number } {
  const [, number = "", unit = "s"] = /^([1-9]\d{0,8})(?:\/(s|m))?$/.exec(text) ?? [];
  const capacity = Number(number);
  if (number === "") throw invalid(name, "a rate such as 100/s or 600/m", text);
  return { capacity, perSecond: unit === "s" ? capacity : capacity / 60 };
}

async function apiKeysIn(path: string, name: string): Promise<Credential> {
  const { apiKeys } = await import("callwire/security/keys");
  try {
    const records: unknown = parseJson(await fileText(path), path);
    if (!Array.isArray(records) || records.length === 0)
      throw new Failure(
        `${path}: must be a JSON array of records: [ … ] around what callwire keys create prints`,
      );
    return apiKeys(records);
  } catch (error) {
    const why = oneLine(error);
    const shown = error instanceof Failure ? why : `${path}: ${why}`;
    throw new Failure(`${name}: ${shown}`, { cause: error });
  }
}

async function jwtFrom(jwksUrl: string, flags: GuardFlags, name: string): Promise<Credential> {
  const { "jwt-issuer": issuer, "jwt-audience": audience } = flags;
  if (issuer === undefined || audience === undefined)
    throw new Failure("--jwks needs --jwt-issuer and --jwt-audience");
  try {
    const { jwt } = await import("callwire/security/jwt");
    const { bearer } = await import("callwire/security");
    return bearer(jwt({ issuer, audience, jwksUrl }));
  } catch (error) {
    const { code } = error as { code?: unknown };
    const why = code === "ERR_MODULE_NOT_FOUND" ? "install the package jose" : oneLine(error);
    throw new Failure(`${name}: ${why}`, { cause: error });
  }
}

/** The certificate and key for `serveHttp`; undefined for plain HTTP. */
export async function serverTlsOf(
  flags: Partial<GuardFlags>,
  nameOf: SettingName = optionName,
): Promise<{ cert: Buffer; key: Buffer } | undefined> {
  const { "tls-cert": cert, "tls-key": key } = flags;
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw new Failure("--tls-cert and --tls-key need each other");
  const read = (path: string, option: "tls-cert" | "tls-key"): Promise<Buffer> =>
    readFile(path).catch((error: unknown) => {
      throw new Failure(`${nameOf(option)}: ${whyUnreadable(path, error)}`, { cause: error });
    });
  const files = { cert: await read(cert, "tls-cert"), key: await read(key, "tls-key") };
  try {
    createSecureContext(files);
  } catch (error) {
    const names = `${nameOf("tls-cert")} and ${nameOf("tls-key")}`;
    throw new Failure(`${names}: not a certificate and its key in PEM: ${oneLine(error)}`, {
      cause: error,
    });
  }
  return files;
}
