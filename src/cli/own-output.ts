import { oneLine } from "./failure.ts";

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
