/** What every host takes: letters, digits, "_" and "-", at most 64 of them. */
const longest = 64;
const valid = /^[A-Za-z0-9_.-]{1,128}$/;

/** A name by which agents can call a method: `math/add` becomes `math_add`. */
export function toolName(method: string, isTaken: (name: string) => boolean): string {
  const plain = method.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, longest) || "tool";
  if (!isTaken(plain)) return plain;
  for (let i = 2; ; i++) {
    const suffix = `_${i}`;
    const name = plain.slice(0, longest - suffix.length) + suffix;
    if (!isTaken(name)) return name;
  }
}

/** A name that was chosen is kept, or refused. */
export function checkedToolName(name: string, isTaken: (name: string) => boolean): string {
  if (!valid.test(name)) {
    throw new TypeError(`"${name}" is no name of a tool: 1 to 128 of A-Z a-z 0-9 _ . -`);
  }
  if (isTaken(name)) throw new TypeError(`there are two tools "${name}"`);
  return name;
}
