import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathOf } from "../../services.ts";

export interface NatsServer {
  readonly port: number;
  readonly url: string;
  /** As `kill -9` does. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** It is suspended until it is resumed. */
  freeze(): void;
  thaw(): void;
  /** Shuts down properly, as with `SIGTERM`. */
  terminate(): Promise<void>;
}

/** The address of a nats-server. */
interface Place {
  /** @default a free one */
  readonly port?: number;
  /** @default "127.0.0.1" */
  readonly host?: string;
  /** The command prefix that runs it, such as one for another network. */
  readonly by?: readonly string[];
}

/** A nats-server for the test; `config` is added to its config file after the address. */
export async function startNats(config = "", place: Place = {}): Promise<NatsServer> {
  const { port = -1, host = "127.0.0.1", by = [] } = place;
  const folder = mkdtempSync(join(tmpdir(), "callwire-nats-"));
  const file = join(folder, "nats.conf");
  writeFileSync(
    file,
    `listen: "${host}:${port}"\nmax_payload: 8MB\n${config.replaceAll("$FOLDER", folder)}`,
  );
  const [command = "", ...args] = [...by, pathOf("nats-server"), "-c", file];
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
  const gone = once(child, "exit");
  const taken = await listening(child);
  const end = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
    child.kill(signal);
    await gone;
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    port: taken,
    url: `nats://${host}:${taken}`,
    kill: () => end("SIGKILL"),
    stop: () => end("SIGKILL"),
    freeze: () => {
      child.kill("SIGSTOP");
      while (isRunning(child));
    },
    thaw: () => void child.kill("SIGCONT"),
    terminate: () => end("SIGTERM"),
  };
}

/** Whether one of its threads still runs, if that can be seen: a signal takes effect a moment later. */
function isRunning({ pid }: ChildProcess): boolean {
  const threads = `/proc/${pid}/task`;
  if (!existsSync(threads)) return false;
  return readdirSync(threads).some((thread) => {
    try {
      const state = readFileSync(join(threads, thread, "stat"), "utf8");
      return !state.slice(state.lastIndexOf(")")).startsWith(") T");
    } catch {
      // It has just ended; others may have begun.
      return true;
    }
  });
}

/** Resolves with the port once nats-server reports that it is ready. */
function listening(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const port = /Listening for client connections on .*:(\d+)/.exec(said)?.[1];
      if (port !== undefined && said.includes("Server is ready")) resolve(Number(port));
    });
    child.on("exit", (code) => reject(new Error(`nats-server ended with ${code}: ${said}`)));
  });
}
