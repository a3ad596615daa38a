/** Starts a program in its own process, waits for its end, and takes the CPU time of that process. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const cwd = fileURLToPath(new URL("..", import.meta.url));
/** Writes the figures to a separate pipe, so that the output of the program is unchanged. */
const report = `data:text/javascript,${encodeURIComponent(`
  import { writeSync } from "node:fs";
  process.on("exit", () => {
    const { user, system } = process.cpuUsage();
    writeSync(3, String(user + system));
  });
`)}`;

/** `expected` is what the output has to contain. */
export function prepare({ args, input = "", expected = "" }) {
  const start = () => {
    const { status, output, error } = spawnSync(process.execPath, ["--import", report, ...args], {
      cwd,
      input,
      encoding: "utf8",
      stdio: ["pipe", "pipe", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1" },
    });
    if (error) throw error;
    const [, stdout, stderr, cpuMicros] = output;
    if (status !== 0 || !stdout.includes(expected)) {
      throw new Error(`${args.join(" ")}: ${status} ${(stdout + stderr).slice(0, 500)}`);
    }
    return { calls: 1, cpuMicros: Number(cpuMicros) };
  };
  start();
  return start;
}
