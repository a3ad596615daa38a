import { spawn } from "node:child_process";
import { Duplex } from "node:stream";
import { type Framing, newlineFraming } from "callwire/framing";
import { spawnConnection } from "callwire/stdio";
import { blankLine, rawStream, type Wire } from "../contract.ts";
import { Children, pidOnStderr } from "./children.ts";

/** A program that serves the fixture of its first argument over stdio, with the framing of its second. */
export function stdioWire(program: string, framing: Framing = newlineFraming): Wire {
  return {
    shared: false,
    garbage: "answer",
    bytes: true,
    ...(framing === newlineFraming ? { except: blankLine } : undefined),
    async start(fixture) {
      const args = [program, JSON.stringify(fixture), framing.name];
      const children = new Children();
      return {
        async connect(service) {
          const { pid, stderr } = pidOnStderr();
          const link = await spawnConnection(process.execPath, args, { framing, service, stderr });
          children.add(await pid, link.closed);
          return { link, kill: () => void link.close() };
        },
        raw() {
          const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"] });
          children.addProcess(child);
          const { stdin, stdout } = child;
          return rawStream(Duplex.from({ readable: stdout, writable: stdin }), framing);
        },
        close: () => children.signal("SIGTERM"),
        kill: () => children.signal("SIGKILL"),
      };
    },
  };
}
