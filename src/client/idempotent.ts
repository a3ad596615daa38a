/** Names of methods, or a function of the name. */
export type Idempotent = readonly string[] | ((method: string) => boolean);

/** The option as a function; a single string must not match the names that it contains. */
export function isIdempotent(option: Idempotent = []): (method: string) => boolean {
  return typeof option === "function" ? option : (method) => [option].flat().includes(method);
}
