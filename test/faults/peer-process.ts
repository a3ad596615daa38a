import { type ChildProcess, fork, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { bundle } from "../transports/bundle.ts";

export interface PeerOptions {
  /** The file in which it records calls that ran. */
  readonly ledger: string;
  readonly socketPath: string;
  /** The port of nats-server. */
  readonly nats?: number | undefined;
  readonly subject: string;
  /** Whether it serves only its standard input and output. */
  readonly stdio?: boolean;
}

const program = bundle(new URL("./fixtures/peer.ts", import.meta.url));
let subjects = 0;

/** A server in a process of its own, on every wire; for stdio, a process for each client. */
export class PeerProcess {
  readonly #folder = mkdtempSync(join(tmpdir(), "callwire-faults-"));
  readonly #children = new Set<ChildProcess>();
  readonly #options: PeerOptions;
  readonly #stdio: Server;
  readonly #stderr: "ignore" | number;
  ports: { readonly http: number; readonly tcp: number } = { http: 0, tcp: 0 };

  private constructor(nats: number | undefined, stderr: "ignore" | number) {
    const ledger = join(this.#folder, "ledger");
    writeFileSync(ledger, "");
    const subject = `faults.s${++subjects}`;
    this.#options = { ledger, socketPath: join(this.#folder, "peer.sock"), nats, subject };
    this.#stderr = stderr;
    this.#stdio = createServer({ allowHalfOpen: true }, (socket) => {
      const options = { ...this.#options, stdio: true };
      const args = [program, JSON.stringify(options)];
      const child = this.#kept(spawn(process.execPath, args, { stdio: ["pipe", "pipe", stderr] }));
      const { stdin, stdout } = child;
      for (const stream of [socket, stdin, stdout]) stream?.on("error", () => {});
      if (stdin !== null) socket.pipe(stdin);
      stdout?.pipe(socket);
      socket.on("close", () => stdin?.destroy());
      child.on("exit", () => socket.destroy());
    });
  }

  /** With `diskIsFull`, what it writes to its log cannot be stored. */
  static async start(nats: number | undefined, diskIsFull = false): Promise<PeerProcess> {
    const peer = new PeerProcess(nats, diskIsFull ? openSync("/dev/full", "w") : "ignore");
    const stdio: StdioOptions = ["ignore", "ignore", peer.#stderr, "ipc"];
    const child = peer.#kept(fork(program, [JSON.stringify(peer.#options)], { stdio }));
    peer.#stdio.listen(0, "127.0.0.1");
    const [[ports]] = await Promise.all([once(child, "message"), once(peer.#stdio, "listening")]);
    peer.ports = ports;
    return peer;
  }

  get subject(): string {
    return this.#options.subject;
  }

  get socketPath(): string {
    return this.#options.socketPath;
  }

  /** A port; each connection to it is the standard input and output of a new process. */
  get stdioPort(): number {
    return (this.#stdio.address() as { port: number }).port;
  }

  signal(signal: NodeJS.Signals): void {
    for (const child of this.#children) child.kill(signal);
  }

  /** How often the call ran. */
  runs(key: string): number {
    return this.#events().filter((event) => event === `start ${key}`).length;
  }

  async started(key: string): Promise<void> {
    await expect.poll(() => this.#events().includes(`start ${key}`)).toBe(true);
  }

  /** Every call that has started has ended. */
  async idle(): Promise<void> {
    const running = () => {
      const events = this.#events();
      return events.filter(
        (event) => event.startsWith("start ") && !events.includes(`end ${event.slice(6)}`),
      );
    };
    await expect.poll(running).toEqual([]);
  }

  async stop(): Promise<void> {
    this.#stdio.close();
    const gone = [...this.#children].map((child) => once(child, "exit"));
    this.signal("SIGKILL");
    await Promise.all(gone);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #events(): string[] {
    return readFileSync(this.#options.ledger, "utf8").split("\n");
  }

  #kept(child: ChildProcess): ChildProcess {
    this.#children.add(child);
    child.on("exit", () => this.#children.delete(child));
    return child;
  }
}
