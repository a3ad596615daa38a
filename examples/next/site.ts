/** Builds the application and starts it, as `next build` and `next start` do. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));
const program = fileURLToPath(new URL("node_modules/next/dist/bin/next", import.meta.url));

export interface Site {
  readonly url: string;
  close(): Promise<void>;
}

export async function buildSite(): Promise<void> {
  const building = next(["build"]);
  const lines: string[] = [];
  for (const stream of [building.stdout, building.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => lines.push(text));
  }
  const [code] = await once(building, "close");
  if (code !== 0) throw new Error(`next build failed:\n${lines.join("")}`);
}

export async function startSite(): Promise<Site> {
  // Any free port; Next prints which.
  const running = next(["start", "--port", "0", "--hostname", "127.0.0.1"]);
  const ended = once(running, "exit");
  const close = async (): Promise<void> => {
    running.kill();
    await ended;
  };
  running.stderr?.pipe(process.stderr);
  const { stdout } = running;
  if (stdout === null) throw new Error("the output of Next is not piped");
  for await (const line of createInterface(stdout)) {
    const [url] = line.match(/http:\/\/127\.0\.0\.1:\d+/) ?? [];
    if (url === undefined) continue;
    stdout.resume();
    return { url: `${url}/`, close };
  }
  throw new Error("Next did not start");
}

function next(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [program, ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
  });
}
