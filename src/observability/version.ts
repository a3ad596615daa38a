/** The version of this package, for backends that show what instrumented a program. A test compares it with package.json. */
export const version = "0.1.0";
