const prefix = "callwire.playground.";

/** The value that this browser stores under a name; undefined if there is none, or no storage. */
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
    // The page also works without storage, or when it is full.
  }
}

/** Names of members whose values are secret. */
const secretName =
  /pass(word|phrase)?$|secret|token|credential|authorization|api[-_]?key|private[-_]?key/i;

/** The value without its secrets, so that it can be stored or shared. */
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
