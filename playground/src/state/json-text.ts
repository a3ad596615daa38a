/** A value as JSON; a sentence if it is nested too deep for `JSON.stringify`. */
export function jsonText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent) ?? "nothing";
  } catch {
    return "nested too deep to be shown; the message is on the wire";
  }
}
