import { Failure, oneLine } from "./failure.ts";

/** One Ctrl-C may arrive twice: from the terminal, and again from npm, which passes it on. */
const sameKeyMs = 200;

let heard: NodeJS.Signals | undefined;

/** What the process ends with that was told to stop. */
export function stopCode(): 130 | 143 {
  return heard === "SIGTERM" ? 143 : 130;
}

/**
 * Resolves when the process is told to stop, by Ctrl-C or SIGTERM. From then on a second
 * Ctrl-C ends it at once.
 */
export function toldToStop(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let told: number | undefined;
    const hear = (signal: NodeJS.Signals): void => {
      if (told === undefined) {
        told = performance.now();
        heard = signal;
        resolve(signal);
      } else if (performance.now() - told > sameKeyMs) {
        process.exit(signal === "SIGINT" ? 130 : 143);
      }
    };
    process.on("SIGINT", hear).on("SIGTERM", hear);
  });
}

/** Aborts when the process is told to stop. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  void toldToStop().then((signal) => {
    // Terminals show "^C" and stay on its line.
    if (signal === "SIGINT" && process.stderr.isTTY) process.stderr.write("\n");
    controller.abort();
  });
  return controller.signal;
}

/** What comes of work that heeds no signal. Who stops does not wait for it; what it has open ends with the process. */
export function unlessStopped<T>(work: Promise<T>): Promise<T> {
  const signal = stopSignal();
  const stopped = new Promise<never>((_, reject) => {
    const stop = (): void => reject(new Failure("stopped", { exitCode: stopCode() }));
    signal.addEventListener("abort", stop, { once: true });
  });
  return Promise.race([work, stopped]);
}

let outlived = false;

/** From here on callers wait for this process, whether or not somebody reads its banner and its log. */
export function outliveReaders(): void {
  outlived = true;
}

/** Says what becomes of a command whose output nobody takes. */
export function watchOutput(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (outlived) return;
    // Whoever reads may have seen enough, as `head` does; that is no failure.
    if (error.code === "EPIPE") process.exit();
    // Such as a disk that is full.
    console.error(`callwire: standard output cannot be written: ${oneLine(error)}`);
    process.exit(2);
  });
  // Of what cannot be said there nobody can be told.
  process.stderr.on("error", () => {});
}

/** Ends the process when all that it said was taken, and this too. */
export function endAfter(text: string, exitCode: number): void {
  const end = (): never => process.exit(exitCode);
  process.stderr.write("", () => process.stdout.write(text, end));
}
