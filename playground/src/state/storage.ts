const prefix = "callwire.playground.";

/** What was kept in this browser under a name; undefined where there is nothing or no storage. */
export function stored(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(prefix + name) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

export function store(name: string, value: unknown): void {
  try {
    localStorage.setItem(prefix + name, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing, or that is full, is no reason to stop.
  }
}

/** Names of members whose values are nobody's business. */
const secretName =
  /pass(word|phrase)?$|secret|token|credential|authorization|api[-_]?key|private[-_]?key/i;

/** The same value with secrets blanked, so that it can be kept or shared. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      secretName.test(name) && typeof member === "string" ? "" : withoutSecrets(member),
    ]),
  );
}
