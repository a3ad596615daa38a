const lookEveryMs = 10;

/**
 * Resolves once no call of this origin runs and its last reply was handed to the wire, or when the
 * time is up. It looks now and then: only a wire that closes asks, and a call that ends should not
 * have to tell anybody. The timers keep the process alive, because a reply is still to be written.
 */
export async function quiet(origin: { readonly inFlight: number }, drainMs: number): Promise<void> {
  const latest = performance.now() + drainMs;
  do {
    // Also when nothing runs: the reply to what has just ended is written some microtasks later.
    await new Promise((resolve) => setTimeout(resolve, origin.inFlight === 0 ? 0 : lookEveryMs));
  } while (origin.inFlight > 0 && performance.now() < latest);
}
