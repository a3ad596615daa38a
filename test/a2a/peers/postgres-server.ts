import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathOf } from "../../services.ts";

/** PostgreSQL refuses to run as root. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

export interface PostgresServer {
  /** The address for clients: a unix socket in its own folder, so that no port can be taken. */
  readonly config: { readonly host: string; readonly user: string; readonly database: string };
  stop(): Promise<void>;
}

/** A server with an empty database. */
export async function startPostgres(): Promise<PostgresServer> {
  const bin = pathOf("postgresql");
  const folder = mkdtempSync(join(tmpdir(), "callwire-pg-"));
  if (nobody.uid !== undefined) chownSync(folder, nobody.uid, nobody.gid);
  const data = join(folder, "data");
  const environment = { ...process.env, LC_ALL: "C" };
  execFileSync(
    join(bin, "initdb"),
    ["-D", data, "-U", "test", "--auth=trust", "--no-sync", "-E", "UTF8"],
    {
      ...nobody,
      cwd: folder,
      env: environment,
      stdio: "ignore",
    },
  );
  const server = spawn(
    join(bin, "postgres"),
    [
      "-D",
      data,
      "-k",
      folder,
      "-c",
      "listen_addresses=",
      "-c",
      "fsync=off",
      "-c",
      "max_connections=20",
    ],
    { ...nobody, cwd: folder, env: environment, stdio: ["ignore", "ignore", "pipe"] },
  );
  let log = "";
  await new Promise<void>((resolve, reject) => {
    server.stderr.on("data", (chunk) => {
      log += chunk;
      if (log.includes("ready to accept connections")) resolve();
    });
    server.once("exit", () => reject(new Error(`postgres did not start: ${log}`)));
  });
  return {
    config: { host: folder, user: "test", database: "postgres" },
    async stop() {
      server.kill("SIGINT");
      if (server.exitCode === null) await once(server, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
