/** The nats-server of the NATS suite, on a free port. */
import { spawn } from "node:child_process";
import { answering } from "./processes.mjs";

const paths = [process.env.PATH, "/usr/sbin", "/usr/local/sbin"].join(":");

answering({
  start: () =>
    new Promise((resolve, reject) => {
      const child = spawn("nats-server", ["-a", "127.0.0.1", "-p", "-1"], {
        stdio: ["ignore", "ignore", "pipe"],
        env: { ...process.env, PATH: paths },
      });
      process.on("exit", () => child.kill());
      let said = "";
      child.on("error", () => reject(new Error("nats-server is not installed")));
      child.stderr.on("data", (chunk) => {
        said += chunk;
        const port = /Listening for client connections on .*:(\d+)/.exec(said)?.[1];
        if (port !== undefined && said.includes("Server is ready")) {
          resolve({ port: Number(port), pid: child.pid });
        }
      });
    }),
});
