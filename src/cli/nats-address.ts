import { readFile } from "node:fs/promises";
import type { NodeConnectionOptions } from "@nats-io/transport-node";
import { Failure, oneLine } from "./failure.ts";

/** The parts of `nats://user:password@host:port,host:port/subject?creds=file`. */
export interface NatsAddress {
  readonly servers: readonly string[];
  readonly subject: string;
  /** A token, if there is no password. */
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly settings: ReadonlyMap<string, string>;
}

/** Query parameters; all except tls are file names, and can also be environment variables. */
const settingNames: readonly string[] = ["creds", "ca", "cert", "key", "tls"];

const form = /^nats:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;

/** Checked here too, because `callwire/nats` checks it only after connecting. */
const subjectForm = /^[\w-]+(\.[\w-]+)*$/;

export function parseNatsAddress(url: string): NatsAddress {
  if (/^[^?#]*,nats:/.test(url)) {
    throw new TypeError(
      "nats:// must be given once, before all hosts, as in nats://a:4222,b:4222/rpc",
    );
  }
  const [, login, hosts = "", path = "", query = ""] = form.exec(url) ?? [];
  if (path.includes("@")) {
    throw new TypeError("/ and @ in a password must be escaped as %2F and %40");
  }
  const servers = hosts.split(",");
  if (servers.includes("")) {
    throw new TypeError("write nats://host:port/subject, with commas between several hosts");
  }
  for (const server of servers) {
    const isHost = URL.canParse(`nats://${server}`) && !server.endsWith(":");
    if (!isHost) throw new TypeError(`${server} is not a host`);
  }
  const subject = decodeURIComponent(path);
  if (subject === "") throw new TypeError("the subject is missing; write nats://127.0.0.1/rpc");
  if (!subjectForm.test(subject)) {
    throw new TypeError(
      `the subject must be letters, digits, - and _ with dots between, not ${JSON.stringify(subject)}`,
    );
  }
  const settings = new Map(new URLSearchParams(query));
  const unknown = [...settings.keys()].find((name) => !settingNames.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`unknown setting ${unknown}; settings are ${settingNames.join(", ")}`);
  }
  const [user, ...password] = (login ?? "").split(":");
  return {
    servers: servers.map((server) => (/:\d+$/.test(server) ? server : `${server}:4222`)),
    subject,
    user: user === "" ? undefined : decodeURIComponent(user ?? ""),
    password: password.length === 0 ? undefined : decodeURIComponent(password.join(":")),
    settings,
  };
}

type Login = Pick<NodeConnectionOptions, "user" | "pass" | "token" | "authenticator">;

export async function loginOf({ user, password, settings }: NatsAddress): Promise<Login> {
  const { NATS_USER, NATS_PASSWORD, NATS_CREDS, NATS_TOKEN = NATS_USER } = process.env;
  const isGiven = user !== undefined || settings.has("creds");
  // NATS treats a user without a password as a token.
  const given = isGiven
    ? { user, password, token: user, creds: settings.get("creds") }
    : { user: NATS_USER, password: NATS_PASSWORD, token: NATS_TOKEN, creds: NATS_CREDS };
  if (given.creds !== undefined) {
    const { credsAuthenticator } = await import("@nats-io/transport-node");
    return { authenticator: credsAuthenticator(await contents(given.creds)) };
  }
  if (given.user !== undefined && given.password !== undefined) {
    return { user: given.user, pass: given.password };
  }
  return given.token === undefined ? {} : { token: given.token };
}

/** Undefined lets nats-server decide whether to use TLS. */
export async function tlsOf({ settings }: NatsAddress): Promise<NodeConnectionOptions["tls"]> {
  const { NATS_CA, NATS_CERT, NATS_KEY } = process.env;
  const files = { ca: NATS_CA, cert: NATS_CERT, key: NATS_KEY };
  const read: { ca?: string; cert?: string; key?: string } = {};
  for (const name of ["ca", "cert", "key"] as const) {
    const path = settings.get(name) ?? files[name];
    if (path !== undefined) read[name] = (await contents(path)).toString();
  }
  return settings.has("tls") || Object.keys(read).length > 0 ? read : undefined;
}

async function contents(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new Failure(`${path} cannot be read: ${oneLine(error)}`, { cause: error });
  }
}
