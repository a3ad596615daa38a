import type { Params } from "../protocol/message.ts";
import type { CallOptions } from "./outgoing-call.ts";

/** Calls a method by its full name. */
export type Invoke = (name: string, params: Params | undefined, options?: CallOptions) => unknown;

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
    apply: (_, __, args: Arguments) => {
      const [first, second, third] = args;
      const isOptions = second === undefined || isPlainObject(second);
      const isNamed =
        first === undefined
          ? isOptions && args.length < 3
          : isPlainObject(first) && (isOptions || third?.[second as number] === first);
      return isNamed
        ? invoke(name, first as Params | undefined, isOptions ? second : undefined)
        : invoke(name, args);
    },
  });
}

/**
 * The calling convention. An object is params by name, and an object after it has the options of the call; undefined in
 * its place means no params. The index and the array that an array callback adds are dropped: the proxy knows no schema,
 * and `list.map(api.find)` must not send them. Everything else is params by position.
 */
type Arguments = [
  first?: unknown,
  second?: unknown,
  third?: readonly unknown[],
  ...rest: unknown[],
];

function isPlainObject(value: unknown): value is { readonly [name: string]: unknown } {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
