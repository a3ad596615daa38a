import { isEnvelope } from "../../protocol/envelope.ts";
import { parseJson } from "../../protocol/json-text.ts";

/** A call written as the query of a URL. */
export type QueryCall =
  | { readonly method: string; readonly text: string }
  /** What is wrong with it. */
  | { readonly fault: string };

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Reads `method=math/count&to=3&id=1`: the method and the id, params as JSON in `params`, and every
 * other parameter as one of the named params.
 */
export function callFromQuery(query: URLSearchParams): QueryCall {
  const method = query.get("method");
  if (method === null || method === "") return { fault: "the query needs a method" };
  const named: Record<string, unknown> = Object.create(null);
  const seen = new Set<string>();
  for (const [name, value] of query) {
    if (seen.has(name)) return { fault: "a parameter of the query is repeated" };
    seen.add(name);
    if (name !== "method" && name !== "id" && name !== "params") named[name] = readValue(value);
  }
  const params = paramsOf(query.get("params"), named);
  if (params === undefined) return { fault: "params in the query must be a JSON array or object" };
  const id = readValue(query.get("id") ?? "1");
  const request = {
    jsonrpc: "2.0",
    method,
    params,
    id: typeof id === "number" ? id : query.get("id"),
  };
  try {
    return { method, text: JSON.stringify(request) };
  } catch {
    // Parsing takes any depth, but writing overflows the stack.
    return { fault: "params in the query are nested too deep" };
  }
}

function paramsOf(written: string | null, named: Record<string, unknown>): unknown {
  if (written === null) return named;
  const given = parseJson(written);
  // Positional params cannot be combined with named ones.
  if (Array.isArray(given)) return Object.keys(named).length === 0 ? given : undefined;
  return isEnvelope(given) ? Object.assign(Object.create(null), given, named) : undefined;
}

/** Numbers, booleans, arrays and objects in JSON; anything else is a string. */
function readValue(text: string): unknown {
  if (text === "true") return true;
  if (text === "false") return false;
  if (jsonNumber.test(text)) {
    const number = Number(text);
    // Integers that a number cannot represent stay strings.
    return Number.isInteger(number) && !Number.isSafeInteger(number) ? text : number;
  }
  if (text.startsWith("{") || text.startsWith("[")) return parseJson(text) ?? text;
  return text;
}
