/** One sentence on what keeps a value from being a 2.0 Response object, or undefined. */
export function responseFault(value: unknown): string | undefined {
  if (!isObject(value)) return `a response is an object, not ${kindOf(value)}`;
  if (value.jsonrpc !== "2.0") {
    return Object.hasOwn(value, "jsonrpc")
      ? `the response has the version ${JSON.stringify(value.jsonrpc)}, not "2.0"`
      : 'the response has no member "jsonrpc"';
  }
  if (!Object.hasOwn(value, "id")) return 'the response has no member "id"';
  const { id } = value;
  if (typeof id !== "string" && typeof id !== "number" && id !== null) {
    return `the id of the response is ${kindOf(id)}`;
  }
  const hasResult = Object.hasOwn(value, "result");
  if (!Object.hasOwn(value, "error")) {
    return hasResult ? undefined : 'the response has neither "result" nor "error"';
  }
  return hasResult ? 'the response has both "result" and "error"' : errorFault(value.error);
}

function errorFault(error: unknown): string | undefined {
  if (!isObject(error)) return `the error is ${kindOf(error)}, not an object`;
  if (!Number.isInteger(error.code)) {
    return `the code of the error is ${JSON.stringify(error.code) ?? "missing"}, not an integer`;
  }
  return typeof error.message === "string"
    ? undefined
    : `the message of the error is ${JSON.stringify(error.message) ?? "missing"}, not a string`;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
