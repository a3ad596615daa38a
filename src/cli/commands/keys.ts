import type { Principal } from "callwire";
import { command, type Flags } from "../command.ts";
import { Failure } from "../failure.ts";

const options = {
  type: {
    type: "string",
    value: "api|hmac-sha256|ed25519",
    description: "an API key, or a key that signs messages (default api)",
  },
  id: { type: "string", value: "id", description: "names the key (default a random one)" },
  principal: { type: "string", value: "id", description: "who calls with it (default the key)" },
  roles: { type: "string", value: "a,b", description: "roles of the principal" },
  scopes: { type: "string", value: "a,b", description: "scopes of the principal" },
  expires: { type: "string", value: "date", description: "until when it is valid, as 2030-12-31" },
  json: { type: "boolean", description: "as JSON, for programs" },
} as const;

/** What the caller keeps, and what the server stores. */
interface Created {
  readonly secret: unknown;
  readonly record: unknown;
}

export const keys = command({
  usage: "create [options]",
  options,
  examples: [
    ["callwire keys create --id ci --roles deploy", "an API key, and the record to store of it"],
    ["callwire keys create --type ed25519 --json", "a pair of keys that sign and verify"],
  ],
  async run(flags, positionals) {
    const [verb, extra] = positionals;
    if (verb !== "create")
      throw new Failure('keys knows the word "create"; see "callwire keys --help"');
    if (extra !== undefined)
      throw new Failure(
        `keys create takes no ${JSON.stringify(extra)}; see "callwire keys --help"`,
      );
    const created = await create(flags);
    process.stdout.write(flags.json ? `${JSON.stringify(created, null, 2)}\n` : shown(created));
  },
});

async function create(flags: Flags<typeof options>): Promise<Created> {
  const { type = "api", id } = flags;
  // A variable of a script that is not set must not stand for a random name, or for nobody.
  for (const name of ["id", "principal"] as const)
    if (flags[name]?.trim() === "") throw new Failure(`--${name} needs a value`);
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
  throw new Failure(`there is no type ${JSON.stringify(type)}; see "callwire keys --help"`);
}

function principalOf(flags: Flags<typeof options>): Principal | undefined {
  const { principal, id, roles, scopes } = flags;
  if (principal === undefined && roles === undefined && scopes === undefined) return undefined;
  const name = principal ?? id;
  if (name === undefined) throw new Failure("roles and scopes need a --principal or an --id");
  return {
    id: name,
    ...(roles === undefined ? undefined : { roles: listOf(roles) }),
    ...(scopes === undefined ? undefined : { scopes: listOf(scopes) }),
  };
}

function listOf(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

function dateOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const date = new Date(text);
  // There is no 31st of February; `Date` takes it for a day in March.
  const isOther = /^\d{4}-\d\d-\d\d$/.test(text) && !date.toJSON()?.startsWith(text);
  if (Number.isNaN(date.getTime()) || isOther)
    throw new Failure(`${JSON.stringify(text)} is no date`);
  if (date.getTime() <= Date.now()) throw new Failure(`${JSON.stringify(text)} is in the past`);
  return date.toISOString();
}

function shown({ secret, record }: Created): string {
  const text = typeof secret === "string" ? secret : JSON.stringify(secret, null, 2);
  return [
    "For the caller; it is shown this once:",
    "",
    text,
    "",
    "For the server, to store:",
    "",
    JSON.stringify(record, null, 2),
    "",
  ].join("\n");
}
