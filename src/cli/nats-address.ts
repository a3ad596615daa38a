import { readFile } from "node:fs/promises";
import type { NodeConnectionOptions } from "@nats-io/transport-node";
import { Failure, oneLine } from "./failure.ts";

/** What `nats://user:password@host:port,host:port/subject?creds=file` says. */
export interface NatsAddress {
  readonly servers: readonly string[];
  readonly subject: string;
  /** Alone it is a token. */
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly settings: ReadonlyMap<string, string>;
}

/** What may stand behind the question mark. All but tls name a file, and may stand in the environment too. */
const settingNames: readonly string[] = ["creds", "ca", "cert", "key", "tls"];

const form = /^nats:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;

/** What `callwire/nats` takes; there it would be refused too, but only after a connection was made. */
const subjectForm = /^[\w-]+(\.[\w-]+)*$/;

export function parseNatsAddress(url: string): NatsAddress {
  if (/^[^?#]*,nats:/.test(url)) {
    throw new TypeError("nats:// stands once, before all hosts, as in nats://a:4222,b:4222/rpc");
  }
  const [, login, hosts = "", path = "", query = ""] = form.exec(url) ?? [];
  if (path.includes("@")) {
    throw new TypeError("in a password, / is written as %2F and @ as %40");
  }
  const servers = hosts.split(",");
  if (servers.includes("")) {
    throw new TypeError("it is nats://host:port/subject, with a comma between several hosts");
  }
  for (const server of servers) {
    const isHost = URL.canParse(`nats://${server}`) && !server.endsWith(":");
    if (!isHost) throw new TypeError(`${server} is no host`);
  }
  const subject = decodeURIComponent(path);
  if (subject === "") throw new TypeError("the subject is missing, as in nats://127.0.0.1/rpc");
  if (!subjectForm.test(subject)) {
    throw new TypeError(
      `a subject is words of letters, digits, - and _ with dots, not ${JSON.stringify(subject)}`,
    );
  }
  const settings = new Map(new URLSearchParams(query));
  const unknown = [...settings.keys()].find((name) => !settingNames.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`${unknown} is no setting of it; there are ${settingNames.join(", ")}`);
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

/** How to log in: as the address says, or else the environment. */
export async function loginOf({ user, password, settings }: NatsAddress): Promise<Login> {
  const { NATS_USER, NATS_PASSWORD, NATS_CREDS, NATS_TOKEN = NATS_USER } = process.env;
  const isSaid = user !== undefined || settings.has("creds");
  // A user without a password is a token, as in addresses of NATS.
  const given = isSaid
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

/** Undefined where the server decides: a connection is then encrypted if it asks for that. */
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
