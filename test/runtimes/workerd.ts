/** Bundles a Worker, as wrangler does, and runs it in Cloudflare's runtime. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { build } from "esbuild";
import { root } from "../entries.ts";
import { pathOf } from "../services.ts";

const config = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-01"
);
`;

export interface StartedWorker {
  readonly url: string;
  stop(): Promise<void>;
}

/** `entry` is a path in this repository. */
export async function startWorker(entry: string): Promise<StartedWorker> {
  const folder = await mkdtemp(join(tmpdir(), "callwire-workerd-"));
  await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile: join(folder, "worker.js"),
    bundle: true,
    format: "esm",
    conditions: ["workerd"],
    // The paths of tsconfig.json lead to the sources; what users get is dist/.
    tsconfigRaw: {},
  });
  await writeFile(join(folder, "config.capnp"), config);
  const child = spawn(pathOf("workerd"), ["serve", "config.capnp", "--control-fd=3"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit", "pipe"],
  });
  return {
    url: `http://127.0.0.1:${await portOf(child)}/rpc`,
    async stop() {
      child.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The port that workerd chose, which it prints as a line of JSON. */
async function portOf(child: ChildProcess): Promise<number> {
  let told = "";
  for await (const chunk of child.stdio[3] as Readable) {
    told += chunk;
    for (const line of told.split("\n").slice(0, -1)) {
      const { event, port } = JSON.parse(line);
      if (event === "listen") return port;
    }
  }
  throw new Error("workerd did not start");
}
