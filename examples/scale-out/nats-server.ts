import { spawn } from "node:child_process";
import { once } from "node:events";

/** Starts a nats-server, on a free port by default. */
export async function startNats(
  args: readonly string[] = ["-a", "127.0.0.1", "-p", "-1"],
): Promise<{ readonly port: number; stop(): Promise<void> }> {
  // Debian installs it in a folder that is only in the PATH of root.
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
  // Ctrl-C stops this process, which then stops nats-server.
  const child = spawn("nats-server", args, {
    env,
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => process.exit(130));
  }
  let said = "";
  const port = await new Promise<number>((resolve, reject) => {
    child.on("error", () => reject(new Error("nats-server is not installed")));
    child.on("exit", (code) => reject(new Error(`nats-server ended with ${code}: ${said}`)));
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const taken = /Listening for client connections on .*:(\d+)/.exec(said)?.[1];
      if (taken !== undefined && said.includes("Server is ready")) resolve(Number(taken));
    });
  });
  return {
    port,
    async stop() {
      const gone = once(child, "exit");
      child.kill();
      await gone;
      process.off("exit", kill);
    },
  };
}
