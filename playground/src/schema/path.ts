import { isObject } from "./resolve.ts";

export type Path = readonly (string | number)[];

/** The value at a path, or undefined. */
export function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (Array.isArray(found)) found = found[step as number];
    else if (isObject(found) && Object.hasOwn(found, step)) found = found[step];
    else return undefined;
  }
  return found;
}

/** The value with another one at a path; undefined removes the member. */
export function withValueAt(value: unknown, [step, ...rest]: Path, inner: unknown): unknown {
  if (step === undefined) return inner;
  const next = withValueAt(
    Array.isArray(value) ? value[step as number] : isObject(value) ? value[step] : undefined,
    rest,
    inner,
  );
  if (Array.isArray(value) || (value === undefined && typeof step === "number")) {
    const list = Array.isArray(value) ? [...value] : [];
    if (next === undefined) list.splice(step as number, 1);
    else list[step as number] = next;
    // JSON has no gaps.
    return Array.from(list, (member) => (member === undefined ? null : member));
  }
  const members: Record<string, unknown> = isObject(value) ? { ...value } : {};
  if (next === undefined) delete members[step];
  // Defined, not assigned: a server may name a param __proto__.
  else
    Object.defineProperty(members, step, {
      value: next,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  return members;
}

export function samePath(a: Path, b: Path): boolean {
  return a.length === b.length && a.every((step, i) => String(step) === String(b[i]));
}
