export interface RedactOptions {
  /** Member names that are always hidden, ignoring case, `_` and `-`. Replaces the default. @default secretKeys */
  readonly keys?: readonly string[];
  /** Paths that are hidden: `params.user.email`, `params[0]`, `result.*.iban`; `*` matches one step. @default [] */
  readonly paths?: readonly string[];
  /** Longest body in characters, names and values together; the rest is only counted. @default 2048 */
  readonly maxLength?: number;
  /** Deepest nesting that is shown. @default 8 */
  readonly maxDepth?: number;
}

/** Names of members that usually hold secrets. */
export const secretKeys: readonly string[] = `
  password passwd passphrase secret clientSecret token accessToken refreshToken idToken apiKey
  privateKey authorization proxyAuthorization cookie setCookie credential credentials signature
`
  .trim()
  .split(/\s+/);

const hidden = "[redacted]";

/** Returns a shortened copy without secrets. `root` is the path of the value, such as "params". */
export type Redact = (value: unknown, root: string) => unknown;

/**
 * Makes the function with which `logging` hides secrets, for your own use.
 * @example
 * ```ts
 * import { redactor, secretKeys } from "callwire/observability";
 *
 * const redact = redactor({ keys: [...secretKeys, "iban"] });
 * console.log(redact({ name: "Ada", iban: "DE02" }, "params")); // without the IBAN
 * ```
 */
export function redactor(options: RedactOptions = {}): Redact {
  const { keys = secretKeys, paths = [], maxLength = 2048, maxDepth = 8 } = options;
  const names = new Set(keys.map(plain));
  const places = paths.map(stepsOf);
  return (value, root) => {
    const begun = stepsOf(root);
    const matching = places.flatMap((steps) => rest(steps, begun) ?? []);
    if (matching.some((steps) => steps.length === 0)) return hidden;
    const walk: Walk = { names, left: maxLength, depth: maxDepth };
    return shown(value, matching, walk, 0);
  };
}

interface Walk {
  readonly names: ReadonlySet<string>;
  readonly depth: number;
  /** How many characters may still be shown. */
  left: number;
}

type Steps = readonly string[];

function shown(value: unknown, places: readonly Steps[], walk: Walk, depth: number): unknown {
  try {
    return shownValue(value, places, walk, depth);
  } catch {
    // A getter or a toJSON that throws.
    return "[unreadable]";
  }
}

function shownValue(given: unknown, places: readonly Steps[], walk: Walk, depth: number): unknown {
  const value = asJson(given);
  if (typeof value === "string") return shownText(value, walk);
  if (typeof value === "bigint") return shownText(`${value}`, walk);
  if (typeof value !== "object" || value === null) {
    walk.left -= 4;
    return typeof value === "function" || typeof value === "symbol" ? `[${typeof value}]` : value;
  }
  if (depth >= walk.depth) return "[deeper]";
  return Array.isArray(value)
    ? shownList(value, places, walk, depth)
    : shownMembers(value, places, walk, depth);
}

function shownText(text: string, walk: Walk): string {
  const room = Math.max(0, walk.left);
  walk.left -= text.length;
  return text.length <= room ? text : `${text.slice(0, room)}… ${text.length - room} more`;
}

function shownList(
  list: readonly unknown[],
  places: readonly Steps[],
  walk: Walk,
  depth: number,
): unknown[] {
  const copy: unknown[] = [];
  for (let i = 0; i < list.length; i++) {
    if (walk.left <= 0) {
      copy.push(`… ${list.length - i} more`);
      break;
    }
    copy.push(member(`${i}`, list[i], places, walk, depth));
  }
  return copy;
}

function shownMembers(
  object: object,
  places: readonly Steps[],
  walk: Walk,
  depth: number,
): Record<string, unknown> {
  // No prototype, so that a member named "__proto__" is copied like any other.
  const copy: Record<string, unknown> = Object.create(null);
  const names = Object.keys(object);
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    if (walk.left <= 0) {
      copy["…"] = `${names.length - i} more`;
      break;
    }
    walk.left -= name.length;
    const shownName = name.length <= 64 ? name : `${name.slice(0, 64)}…`;
    copy[shownName] = walk.names.has(plain(name))
      ? hidden
      : member(name, (object as Record<string, unknown>)[name], places, walk, depth);
  }
  return copy;
}

function member(
  name: string,
  value: unknown,
  places: readonly Steps[],
  walk: Walk,
  depth: number,
): unknown {
  if (places.length === 0) return shown(value, places, walk, depth + 1);
  const below = places.flatMap((steps) => rest(steps, [name]) ?? []);
  return below.some((steps) => steps.length === 0) ? hidden : shown(value, below, walk, depth + 1);
}

/** The rest of a path after these steps; undefined if it does not match them. */
function rest(path: Steps, taken: Steps): [Steps] | undefined {
  const fits = taken.every((step, i) => path[i] === step || path[i] === "*");
  return fits ? [path.slice(taken.length)] : undefined;
}

/** `params[0].user` and `params.0.user` are the same. */
function stepsOf(path: string): Steps {
  return path
    .replace(/\[(\d+|\*)\]/g, ".$1")
    .split(".")
    .filter((step) => step !== "");
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, "");
}

function asJson(value: unknown): unknown {
  const { toJSON } = (value ?? {}) as { toJSON?: unknown };
  return typeof toJSON === "function" ? toJSON.call(value) : value;
}
