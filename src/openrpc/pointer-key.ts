/** The key that a part of a pointer in a reference stands for; some libraries do not encode what they should. */
export function pointerKey(part: string): string {
  let key = part;
  try {
    key = decodeURIComponent(part);
  } catch {
    // A name that has a percent sign, as it is.
  }
  return key.replaceAll("~1", "/").replaceAll("~0", "~");
}
