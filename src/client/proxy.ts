import type { Params } from "../protocol/message.ts";
import type { CallOptions } from "./outgoing-call.ts";

/** Calls a method by its full name. */
export type Invoke = (
  name: string,
  params: Params | undefined,
  options: CallOptions | undefined,
) => unknown;

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
    apply: (_, __, args: unknown[]) => {
      const [first, second] = args;
      const options = isPlainObject(second) ? second : undefined;
      return isNamed(args)
        ? invoke(name, first as Params | undefined, options)
        : invoke(name, args, undefined);
    },
  });
}

/**
 * The calling convention. An object is params by name, and an object after it has the options of the call; undefined in
 * its place means no params. Arguments that an array callback adds are dropped: the proxy knows no schema, and
 * `list.map(api.find)` must not send the index. Everything else is params by position.
 */
function isNamed(args: readonly unknown[]): boolean {
  const [first, second, third] = args;
  const isFollowed = second !== undefined && !isPlainObject(second);
  if (first === undefined) return args.length < 3 && !isFollowed;
  if (!isPlainObject(first)) return false;
  return !isFollowed || (Array.isArray(third) && third[second as number] === first);
}

function isPlainObject(value: unknown): value is { readonly [name: string]: unknown } {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
