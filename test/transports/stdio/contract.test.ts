import { type ChildProcess, spawn } from "node:child_process";
import { Duplex } from "node:stream";
import { contentLengthFraming, type Framing, newlineFraming } from "callwire/framing";
import { spawnConnection } from "callwire/stdio";
import { bundle } from "../bundle.ts";
import { describeTransport, type Fixture, type Host, rawStream } from "../contract.ts";

const program = bundle(new URL("./fixtures/contract-server.ts", import.meta.url));

/** Each client has a server of its own, so these are all that run. */
class Children {
  readonly #pids = new Map<number, Promise<void>>();

  add(pid: number, gone: Promise<unknown>): void {
    this.#pids.set(
      pid,
      gone.then(() => void this.#pids.delete(pid)),
    );
  }

  async signal(signal: NodeJS.Signals): Promise<void> {
    const all = [...this.#pids];
    for (const [pid] of all) kill(pid, signal);
    await Promise.all(all.map(([, gone]) => gone));
  }
}

async function start(fixture: Fixture, framing: Framing): Promise<Host> {
  const args = [program, JSON.stringify(fixture), framing.name];
  const children = new Children();
  return {
    async connect(service) {
      let tell: (chunk: Uint8Array) => void = () => {};
      const said = new Promise<string>((resolve) => {
        tell = (chunk) => resolve(Buffer.from(chunk).toString());
      });
      const stderr = (chunk: Uint8Array): void => tell(chunk);
      const link = await spawnConnection(process.execPath, args, { framing, service, stderr });
      const pid = Number(await said);
      children.add(pid, link.closed);
      return { link, kill: () => void link.close() };
    },
    raw() {
      const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"] });
      children.add(child.pid as number, exited(child));
      const { stdin, stdout } = child;
      return rawStream(Duplex.from({ readable: stdout, writable: stdin }), framing);
    },
    close: () => children.signal("SIGTERM"),
    kill: () => children.signal("SIGKILL"),
  };
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone, and the news is on its way.
  }
}

function exited(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once("exit", resolve));
}

describeTransport("stdio with lines", {
  shared: false,
  garbage: "answer",
  bytes: true,
  except: ["An empty text is a parse error"],
  start: (fixture) => start(fixture, newlineFraming),
});

describeTransport("stdio with Content-Length", {
  shared: false,
  garbage: "answer",
  bytes: true,
  start: (fixture) => start(fixture, contentLengthFraming),
});
