/**
 * How long tests may take: only what never happens reaches these limits. No test expects them, so
 * they are generous: if 30 programs share two cores, one that takes 0.1 s alone may take ten.
 */

/** Of a test, and of a hook. */
export const testMs = 60_000;

/** Of a wait in a test, so that the test fails with the condition that it waited for. */
export const waitMs = 50_000;
