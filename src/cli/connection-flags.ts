import { readFileSync } from "node:fs";
import { useClientTls } from "./client-tls.ts";
import type { Complete } from "./command.ts";
import { Failure, oneLine } from "./failure.ts";
import { namedServer } from "./named-servers.ts";

type Values = Record<string, unknown>;

/**
 * Completes the flags of a verb that calls a server: the address and the options behind `@name`, the token of the
 * environment or a file, and TLS.
 */
export const connectionFlags: Complete = async (options, given, positionals) => {
  if (!("cacert" in options)) return { values: given, positionals };
  let values = given;
  // The address is the first argument, or the second after a recording.
  const at = positionals.findIndex((word) => /^@[\w.-]+$/.test(word));
  const words = [...positionals];
  if (at === 0 || (at === 1 && "ignore" in options)) {
    const { url, flags } = await namedServer((words[at] as string).slice(1));
    words[at] = url;
    const known = Object.entries(flags).filter(([name]) => name in options);
    values = { ...Object.fromEntries(known), ...given };
  }
  await useClientTls(values);
  if (!("bearer" in options)) return { values, positionals: words };
  const address = words.find((word) => /^(https?|wss?|nats):/.test(word));
  const bearer = tokenOf(values, address !== undefined);
  return { values: bearer === undefined ? values : { ...values, bearer }, positionals: words };
};

/** The token of --bearer, of the file that it names, or of the environment. */
function tokenOf(values: Values, hasHeaders: boolean): string | undefined {
  const { bearer, header = [] } = values;
  if (typeof bearer === "string") {
    return bearer.startsWith("@") ? tokenIn(bearer.slice(1)) : bearer;
  }
  const { CALLWIRE_TOKEN: token = "" } = process.env;
  const isTaken =
    (header as string[]).some((line) => /^authorization\s*:/i.test(line)) ||
    values["sign-in"] === true ||
    values["token-file"] !== undefined;
  return token === "" || !hasHeaders || isTaken ? undefined : token;
}

function tokenIn(path: string): string {
  try {
    const token = readFileSync(path, "utf8").trim();
    if (token !== "") return token;
  } catch (error) {
    throw new Failure(`--bearer: ${oneLine(error)}`, { cause: error });
  }
  throw new Failure(`--bearer: ${path} is empty`);
}
