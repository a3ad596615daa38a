import { isRecord } from "../protocol/record.ts";

/**
 * A type of the protocol as data: the name of a primitive, `#Name` of another shape, literals (`["=", "a", "b"]`), a
 * union (`["|", …]`), an intersection (`["&", …]`), an array (`["[]", item]`), a tuple (`["()", …]`), an object with
 * any names (`["{}", value]`), or an object whose members are named `name` or, if optional, `name?`.
 */
export type Shape = string | readonly [string, ...unknown[]] | { readonly [name: string]: Shape };

export type Shapes = Readonly<Record<string, Shape>>;

/** Where a value does not have its shape. */
export interface ShapeFault {
  /** Names and indexes that lead to the value: `/textDocument/uri`. */
  readonly path: string;
  /** What is expected there, for people. */
  readonly expected: string;
}

const primitives: Readonly<Record<string, (value: unknown) => boolean>> = {
  any: () => true,
  none: (value) => value === undefined || value === null,
  null: (value) => value === null,
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  decimal: (value) => typeof value === "number",
  integer: (value) => isInteger(value, -(2 ** 31)),
  uinteger: (value) => isInteger(value, 0),
  object: isRecord,
};

/** The first fault of a value; undefined if it has the shape. Members that the shape does not name are allowed. */
export function shapeFault(
  value: unknown,
  shape: Shape,
  shapes: Shapes,
  path = "",
): ShapeFault | undefined {
  if (typeof shape === "string") {
    if (shape.startsWith("#")) {
      return shapeFault(value, shapes[shape.slice(1)] as Shape, shapes, path);
    }
    return primitives[shape]?.(value) ? undefined : { path, expected: shape };
  }
  if (!isJoined(shape)) return membersFault(value, shape, shapes, path);
  const [kind, ...parts] = shape as [string, ...Shape[]];
  switch (kind) {
    case "=":
      return parts.includes(value as Shape) ? undefined : { path, expected: parts.join(" or ") };
    case "|":
      return unionFault(value, parts, shapes, path);
    case "&":
      return firstFault(parts, (part) => shapeFault(value, part, shapes, path));
    case "[]":
      if (!Array.isArray(value)) return { path, expected: "an array" };
      return firstFault(value, (item, i) =>
        shapeFault(item, parts[0] as Shape, shapes, `${path}/${i}`),
      );
    case "()":
      if (!Array.isArray(value) || value.length !== parts.length) {
        return { path, expected: `an array of ${parts.length}` };
      }
      return firstFault(parts, (part, i) => shapeFault(value[i], part, shapes, `${path}/${i}`));
    default:
      if (!isRecord(value)) return { path, expected: "an object" };
      return firstFault(Object.entries(value), ([name, member]) =>
        shapeFault(member, parts[0] as Shape, shapes, `${path}/${name}`),
      );
  }
}

function membersFault(
  value: unknown,
  members: Readonly<Record<string, Shape>>,
  shapes: Shapes,
  path: string,
): ShapeFault | undefined {
  if (!isRecord(value)) return { path, expected: "an object" };
  for (const key in members) {
    const isOptional = key.endsWith("?");
    const name = isOptional ? key.slice(0, -1) : key;
    const member = Object.hasOwn(value, name) ? value[name] : undefined;
    if (member === undefined && isOptional) continue;
    if (member === undefined) return { path: `${path}/${name}`, expected: "a value" };
    const fault = shapeFault(member, members[key] as Shape, shapes, `${path}/${name}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The fault of the alternative that fits best: the one that is wrong deepest inside. */
function unionFault(
  value: unknown,
  parts: readonly Shape[],
  shapes: Shapes,
  path: string,
): ShapeFault | undefined {
  let deepest: ShapeFault | undefined;
  for (const part of parts) {
    const fault = shapeFault(value, part, shapes, path);
    if (fault === undefined) return undefined;
    if (deepest === undefined || fault.path.length > deepest.path.length) deepest = fault;
  }
  return deepest;
}

function firstFault<T>(
  parts: readonly T[],
  faultOf: (part: T, index: number) => ShapeFault | undefined,
): ShapeFault | undefined {
  for (let i = 0; i < parts.length; i++) {
    const fault = faultOf(parts[i] as T, i);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function isJoined(shape: Exclude<Shape, string>): shape is readonly [string, ...unknown[]] {
  return Array.isArray(shape);
}

/** LSP has integers of 32 bits. */
function isInteger(value: unknown, least: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) < 2 ** 31;
}
