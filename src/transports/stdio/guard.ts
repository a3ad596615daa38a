let guards = 0;
let unguarded: typeof process.stdout.write | undefined;

/**
 * Sends what anybody writes to `process.stdout` to stderr, `console.log` included, until the
 * returned function is called: one stray line between messages would break the wire.
 */
export function guardStdout(): () => void {
  const { stdout, stderr } = process;
  if (guards++ === 0) {
    unguarded = stdout.write;
    stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  }
  let guarded = true;
  return () => {
    if (!guarded) return;
    guarded = false;
    if (--guards === 0 && unguarded !== undefined) stdout.write = unguarded;
  };
}
