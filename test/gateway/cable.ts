import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { pathOf } from "../services.ts";

/** Another network on this machine, joined to this one by a cable that can be pulled. Needs root. */
export class Cable {
  /** The command prefix that runs a program in the other network. */
  readonly there: readonly string[];
  /** The address of the other network. */
  readonly address: string;
  readonly #namespace: string;
  readonly #farEnd: string;

  constructor() {
    // Each process has its own name and four addresses, from a range reserved for tests.
    const block = (process.pid % 0x4000) * 4;
    const address = (host: number): string => `198.18.${block >> 8}.${(block & 255) + host}`;
    const nearEnd = `cw${process.pid}a`;
    this.#namespace = `callwire-${process.pid}`;
    this.#farEnd = `cw${process.pid}b`;
    this.address = address(2);
    this.there = [pathOf("iproute2"), "netns", "exec", this.#namespace];
    removeLeft();
    ip("netns", "add", this.#namespace);
    process.once("exit", this.#remove);
    ip("link", "add", nearEnd, "type", "veth", "peer", "name", this.#farEnd);
    ip("link", "set", this.#farEnd, "netns", this.#namespace);
    ip("address", "add", `${address(1)}/30`, "dev", nearEnd);
    ip("link", "set", nearEnd, "up");
    this.#ip("address", "add", `${this.address}/30`, "dev", this.#farEnd);
    this.#ip("link", "set", "lo", "up");
    this.join();
  }

  /** From now on nothing passes, and neither side is notified. */
  cut(): void {
    this.#ip("link", "set", this.#farEnd, "down");
  }

  join(): void {
    this.#ip("link", "set", this.#farEnd, "up");
  }

  /** Removing the namespace removes the cable. */
  remove(): void {
    process.off("exit", this.#remove);
    this.#remove();
  }

  readonly #remove = (): void => void ip("netns", "delete", this.#namespace);

  #ip(...args: readonly string[]): void {
    ip("-netns", this.#namespace, ...args);
  }
}

/** Processes that were killed could not remove theirs. */
function removeLeft(): void {
  for (const [name, pid] of ip("netns", "list").matchAll(/^callwire-(\d+)/gm)) {
    if (!existsSync(`/proc/${pid}`)) ip("netns", "delete", name);
  }
}

function ip(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(pathOf("iproute2"), args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr.trim()}`);
  return stdout;
}
