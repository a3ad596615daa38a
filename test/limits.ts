/**
 * How long tests may take: only what never comes reaches these. They are not what a test expects, so they are
 * generous: where 30 programs share two cores, one that takes 0.1 s alone may take ten.
 */

/** Of a test, and of a hook. */
export const testMs = 60_000;

/** Of a wait in a test, so that the test fails with what it waited for. */
export const waitMs = 50_000;
