import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { Failure } from "./failure.ts";
import { fileText } from "./files.ts";
import { parseJson } from "./json-values.ts";
import { didYouMean } from "./nearest.ts";

/** Options of a named server, as they are called on the command line. */
type Settings = Readonly<Record<string, string | boolean | readonly string[]>>;

interface NamedServer {
  readonly url: string;
  readonly flags: Settings;
}

/** Only a file of the user is read: one in the working directory could send tokens anywhere. */
function configPath(): string {
  const { CALLWIRE_CONFIG, XDG_CONFIG_HOME } = process.env;
  if (CALLWIRE_CONFIG) return CALLWIRE_CONFIG;
  return join(XDG_CONFIG_HOME || join(homedir(), ".config"), "callwire", "config.json");
}

/** The servers of the file, by name. */
async function serversIn(path: string): Promise<Readonly<Record<string, unknown>>> {
  const why = `no such file; it defines the servers that "@" names`;
  const { servers = {} } = membersOf(parseJson(await fileText(path, why), path), path);
  return membersOf(servers, `${path}: servers`);
}

/** Every `@name` with its address. */
export async function namedServers(): Promise<{ word: string; about: string }[]> {
  const known = await serversIn(configPath());
  return Object.entries(known).map(([name, server]) => ({
    word: `@${name}`,
    about: `${(server as { url?: unknown } | null)?.url ?? ""}`,
  }));
}

/** The address and the options behind `@name`. */
export async function namedServer(name: string): Promise<NamedServer> {
  const path = configPath();
  const known = await serversIn(path);
  if (!Object.hasOwn(known, name)) {
    const guess = didYouMean(name, Object.keys(known), (other) => `@${other}`);
    throw new Failure(`@${name} is not in ${path}${guess}`);
  }
  const place = `${path}: servers.${name}`;
  const { url, headers = {}, ...rest } = membersOf(known[name], place);
  if (typeof url !== "string") throw new Failure(`${place}.url must be an address`);
  const flags: Record<string, string | boolean | readonly string[]> = {};
  for (const [setting, value] of Object.entries(rest)) {
    const kind = Object.hasOwn(kinds, setting) ? kinds[setting] : undefined;
    if (kind === undefined) {
      const guess = didYouMean(setting, [...Object.keys(kinds), "url", "headers"]);
      throw new Failure(`${place}: unknown setting ${JSON.stringify(setting)}${guess}`);
    }
    if (kind === "flag" ? typeof value !== "boolean" : typeof value !== "string")
      throw new Failure(
        `${place}.${setting} must be ${kind === "flag" ? "a boolean" : "a string"}`,
      );
    const text = typeof value === "string" ? filled(value, `${place}.${setting}`) : value;
    flags[setting] =
      kind === "file" ? resolve(dirname(path), `${text}`) : (text as string | boolean);
  }
  const lines = Object.entries(membersOf(headers, `${place}.headers`)).map(
    ([header, value]) => `${header}: ${filled(`${value}`, `${place}.headers.${header}`)}`,
  );
  if (lines.length > 0) flags.header = lines;
  return { url, flags };
}

const kinds: Readonly<Record<string, "text" | "file" | "flag">> = {
  bearer: "text",
  framing: "text",
  timeout: "text",
  cacert: "file",
  cert: "file",
  key: "file",
  insecure: "flag",
};

function membersOf(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw new Failure(`${place} must be an object`);
}

/** Replaces $NAME, so that secrets can stay out of files. */
export function filled(value: string, who: string): string {
  return value.replace(/\$\{?([A-Z_][A-Z0-9_]*)\}?/g, (_, variable: string) => {
    const found = process.env[variable];
    if (found !== undefined) return found;
    throw new Failure(`${who} needs the environment variable ${variable}`);
  });
}
