import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Processes that serve, one for each client. */
export class Children {
  readonly #gone = new Map<number, Promise<unknown>>();

  /** `gone` settles when the process has ended. */
  add(pid: number, gone: Promise<unknown>): void {
    const left = (): void => void this.#gone.delete(pid);
    this.#gone.set(pid, gone.then(left, left));
  }

  addProcess(child: ChildProcess): void {
    this.add(child.pid as number, once(child, "exit"));
  }

  /** Signals all of them, and waits for their end. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    const all = [...this.#gone];
    for (const [pid] of all) kill(pid, signal);
    await Promise.all(all.map(([, gone]) => gone));
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone, and its exit event is on its way.
  }
}

/** A link does not say which process it started, so the process reports it. */
export function pidOnStderr() {
  let stderr: (chunk: Uint8Array) => void = () => {};
  const pid = new Promise<number>((resolve) => {
    let said = "";
    stderr = (chunk) => {
      said += Buffer.from(chunk).toString();
      const [, found] = /^(\d+)\n/m.exec(said) ?? [];
      if (found !== undefined) resolve(Number(found));
    };
  });
  return { pid, stderr };
}
