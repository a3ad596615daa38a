import type { Context, Request } from "callwire";

/**
 * What a config says decides where a call goes: `params.user.id`, `principal` or `header.x-tenant`. Undefined for
 * anything else.
 */
export function balanceKey(
  by: string,
): ((request: Request, context: Context) => string | undefined) | undefined {
  const [source, ...path] = by.split(".");
  switch (source) {
    case "params":
      return ({ params }) => textOf(valueAt(params, path));
    case "principal":
      if (path.length === 0) return (_, { principal }) => principal?.id;
      break;
    case "header":
      if (path.length > 0) {
        const name = path.join(".").toLowerCase();
        return (_, { transport }) => textOf(transport.headers[name]);
      }
  }
  return undefined;
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Record<string, unknown>)[key]
        : undefined,
    value,
  );
}

function textOf(value: unknown): string | undefined {
  return value === undefined
    ? undefined
    : typeof value === "string"
      ? value
      : JSON.stringify(value);
}
