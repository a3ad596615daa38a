import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { bundle } from "../bundle.ts";

const program = bundle(new URL("./fixtures/worker.ts", import.meta.url));
const payingProgram = bundle(new URL("./fixtures/paying-worker.ts", import.meta.url));

/** Starts a worker in its own process, and waits until it serves. */
export function startWorker(...args: string[]): Promise<ChildProcess> {
  return startWorkerBy([], ...args);
}

/** The same with a command prefix, such as one for another network. */
export function startWorkerBy(by: readonly string[], ...args: string[]): Promise<ChildProcess> {
  return startProgram(program, by, args);
}

/** Starts a worker that takes payments and finishes none. */
export function startPayingWorker(...args: string[]): Promise<ChildProcess> {
  return startProgram(payingProgram, [], args);
}

async function startProgram(
  program: string,
  by: readonly string[],
  args: readonly string[],
): Promise<ChildProcess> {
  const [execPath = "", ...execArgv] = [...by, process.execPath];
  const child = fork(program, args, { execPath, execArgv });
  await Promise.race([
    once(child, "message"),
    once(child, "exit").then(([code]) => {
      throw new Error(`the worker ended with ${code}`);
    }),
  ]);
  return child;
}

/** As `kill -9` does. */
export async function killWorker(child: ChildProcess): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
