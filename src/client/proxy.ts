import type { Params } from "../protocol/message.ts";

/** Calls a method by its full name. */
export type Invoke = (name: string, params: Params | undefined) => unknown;

/** Turns `api.math.add({ a, b })` into a call of "math/add". */
export function apiProxy(separator: string, invoke: Invoke): object {
  return node("", separator, invoke);
}

function node(name: string, separator: string, invoke: Invoke): object {
  // Cached, so that reading a path twice creates no new proxies.
  const children = new Map<string, object>();
  return new Proxy((): void => {}, {
    get(_, key) {
      // Without it, a template string would call the method `toString` of the server.
      if (key === Symbol.toPrimitive) return () => name;
      // `await` and JSON.stringify look for these; a group of methods has neither.
      if (typeof key === "symbol" || key === "then" || key === "toJSON") return undefined;
      let child = children.get(key);
      if (child === undefined) {
        child = node(name === "" ? key : name + separator + key, separator, invoke);
        children.set(key, child);
      }
      return child;
    },
    apply: (_, __, args: unknown[]) => invoke(name, paramsOf(args)),
  });
}

/** A single plain object is params by name; anything else is params by position. */
function paramsOf(args: unknown[]): Params | undefined {
  if (args.length === 0) return undefined;
  if (args.length === 1) {
    const [only] = args;
    if (only === undefined) return undefined;
    if (isPlainObject(only)) return only;
  }
  return args;
}

function isPlainObject(value: unknown): value is { readonly [name: string]: unknown } {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
