import { Failure, oneLine } from "./failure.ts";

/** One Ctrl-C may arrive twice: from the terminal, and again from npm, which forwards it. */
const samePressMs = 200;

let received: NodeJS.Signals | undefined;

export function stopCode(): 130 | 143 {
  return received === "SIGTERM" ? 143 : 130;
}

/** Resolves at the first Ctrl-C or SIGTERM; from then on a second one exits at once. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (firstAt === undefined) {
        firstAt = performance.now();
        received = signal;
        resolve(signal);
      } else if (performance.now() - firstAt > samePressMs) {
        process.exit(signal === "SIGINT" ? 130 : 143);
      }
    };
    process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  });
}

/** Aborts at the first Ctrl-C or SIGTERM. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  void untilSignal().then((signal) => {
    // Terminals print "^C" and leave the cursor behind it.
    if (signal === "SIGINT" && process.stderr.isTTY) process.stderr.write("\n");
    controller.abort();
  });
  return controller.signal;
}

export function stopped(message: string, cause?: unknown): Failure {
  return new Failure(message, { cause, exitCode: stopCode() });
}

/** Awaits work that ignores signals; on stop we don't wait, and its resources die with the process. */
export function unlessStopped<T>(work: Promise<T>): Promise<T> {
  const signal = stopSignal();
  const stop = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(stopped("stopped")), { once: true });
  });
  return Promise.race([work, stop]);
}

let ignoresOutput = false;

/** For servers: keep serving when the reader of the banner and the log has ended. */
export function ignoreOutputErrors(): void {
  ignoresOutput = true;
}

/** Exits when standard output cannot be written. */
export function watchOutput(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (ignoresOutput) return;
    // A reader such as `head` may have seen enough; that is not a failure.
    if (error.code === "EPIPE") process.exit();
    console.error(`callwire: standard output cannot be written: ${oneLine(error)}`);
    process.exit(2);
  });
  // If stderr fails there is nowhere left to report it.
  process.stderr.on("error", () => {});
}

/** Exits after the pending output and this string are written. */
export function exitAfterWriting(text: string, exitCode: number): void {
  const end = (): never => process.exit(exitCode);
  process.stderr.write("", () => process.stdout.write(text, end));
}
