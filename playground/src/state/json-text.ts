/** A value as JSON, also one that is nested deeper than it can be written. */
export function jsonText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent) ?? "nothing";
  } catch {
    return "nested too deep to be shown; the message is on the wire";
  }
}
