import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import type { Principal } from "callwire";
import { defineCommand, type Flags, flag, option } from "../command.ts";
import { commaSeparated, notEmpty, refuseExtra } from "../command-arguments.ts";
import { Failure, invalid } from "../failure.ts";
import { checkWritable, fileText, writeOutput } from "../files.ts";
import { parseJson } from "../json-values.ts";

const options = {
  type: option("type", "api, or hmac-sha256 or ed25519 to sign (default api)", {
    values: ["api", "hmac-sha256", "ed25519"],
  }),
  id: option("id", "id of the key (default: random)"),
  principal: option("id", "id of the caller (default: the key)"),
  roles: option("a,b", "roles of the caller"),
  scopes: option("a,b", "scopes of the caller"),
  expires: option("date", "expiry date, such as 2030-12-31"),
  store: option("file", "add the record to this file, and print the secret only"),
  json: flag("print the key and the record as JSON"),
} as const;

/** The secret for the caller, and the record for the server to store. */
interface Created {
  readonly secret: unknown;
  readonly record: unknown;
}

export const command = defineCommand({
  usage: "create [options]",
  options,
  examples: [
    ["callwire keys create --id ci --roles deploy", "an API key, and the record to store"],
    ["callwire keys create --id ci --store keys.json", "for --api-keys keys.json"],
    ["callwire keys create --type ed25519 --json", "a key pair to sign and to verify"],
  ],
  async run(flags, positionals) {
    const [verb, extra] = positionals;
    if (verb !== "create")
      throw new Failure('keys needs the word "create"; see "callwire keys --help"');
    refuseExtra("keys", extra);
    const { store } = flags;
    if (store !== undefined && flags.json)
      throw new Failure("--store cannot be combined with --json; remove one");
    const known = store === undefined ? [] : await recordsIn(store);
    const { id } = flags;
    if (id !== undefined && known.some((each) => (each as { id?: unknown } | null)?.id === id))
      throw new Failure(`${store} has a key with the id ${JSON.stringify(id)}; use another id`);
    const created = await create(flags);
    if (store !== undefined) {
      await writeRecords(store, [...known, created.record]);
      process.stdout.write(`${textOf(created.secret)}\n`);
      return;
    }
    process.stdout.write(flags.json ? `${JSON.stringify(created, null, 2)}\n` : shown(created));
  },
});

async function recordsIn(file: string): Promise<unknown[]> {
  await checkWritable(file);
  if (!existsSync(file)) return [];
  const records = parseJson(await fileText(file), file);
  if (Array.isArray(records)) return records;
  throw new Failure(`${file}: must be a JSON array of records`);
}

/** Written beside it first, so that a server never reads half of a file. */
async function writeRecords(file: string, records: readonly unknown[]): Promise<void> {
  const beside = `${file}.${process.pid}`;
  await writeOutput(beside, `${JSON.stringify(records, null, 2)}\n`);
  await rename(beside, file);
}

async function create(flags: Flags<typeof options>): Promise<Created> {
  const { type = "api", id } = flags;
  // Otherwise an unset shell variable would create a key with a random id, or without a principal.
  for (const name of ["id", "principal"] as const) notEmpty(`--${name}`, flags[name] ?? "unset");
  const notAfter = dateOf(flags.expires);
  const limits = notAfter === undefined ? undefined : { notAfter };
  const principal = principalOf(flags);
  const named = principal === undefined ? undefined : { principal };
  try {
    if (type === "api") {
      const { createApiKey } = await import("callwire/security/keys");
      const { key, record } = createApiKey({ ...(id && { id }), ...named, ...limits });
      return { secret: key, record };
    }
    if (type === "hmac-sha256" || type === "ed25519") {
      const { createSigningKey } = await import("callwire/security/signing");
      const { signer, verifier } = createSigningKey(type, id);
      return { secret: signer, record: { ...verifier, ...named, ...limits } };
    }
  } catch (error) {
    if (error instanceof TypeError) throw new Failure(error.message, { cause: error });
    throw error;
  }
  throw invalid("--type", "api, hmac-sha256 or ed25519", type);
}

function principalOf({ principal, id, roles, scopes }: Flags<typeof options>) {
  if (principal === undefined && roles === undefined && scopes === undefined) return undefined;
  const name = principal ?? id;
  if (name === undefined) throw new Failure("--roles and --scopes need --principal or --id");
  return {
    id: name,
    ...(roles === undefined ? undefined : { roles: commaSeparated(roles) }),
    ...(scopes === undefined ? undefined : { scopes: commaSeparated(scopes) }),
  } satisfies Principal;
}

function dateOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const date = new Date(text);
  // `Date` accepts the 31st of February as a day in March.
  const isOther = /^\d{4}-\d\d-\d\d$/.test(text) && !date.toJSON()?.startsWith(text);
  if (Number.isNaN(date.getTime()) || isOther)
    throw invalid("--expires", "a date such as 2030-12-31", text);
  if (date.getTime() <= Date.now()) throw invalid("--expires", "in the future", text);
  return date.toISOString();
}

function textOf(secret: unknown): string {
  return typeof secret === "string" ? secret : JSON.stringify(secret, null, 2);
}

function shown({ secret, record }: Created): string {
  return [
    "For the caller; this is shown only once:",
    "",
    textOf(secret),
    "",
    "For the server, to store:",
    "",
    JSON.stringify(record, null, 2),
    "",
  ].join("\n");
}
