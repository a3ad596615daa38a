import { isRpcError, WireError } from "callwire";

const missingCapability = -32021;
const pageRequired = -32042;
const terminal = "run this in a terminal to be asked";

/** What would help against an error. */
export function errorHint(error: unknown): string | undefined {
  if (error instanceof WireError && error.status === 401) {
    return "--sign-in signs in, and --bearer sends a token that you have";
  }
  if (isRpcError(error, pageRequired)) {
    return "run this in a terminal to be shown the page";
  }
  if (!isRpcError(error, missingCapability)) return undefined;
  const { requiredCapabilities: needed = {} } = (error.data ?? {}) as {
    requiredCapabilities?: object;
  };
  return "elicitation" in needed ? terminal : undefined;
}

/** The same where the error is what came of a tool. */
export function toolHint(result: unknown): string | undefined {
  const { _meta } = result as { _meta?: Readonly<Record<string, unknown>> };
  const { code } = (_meta?.["callwire/error"] ?? {}) as { code?: unknown };
  return code === missingCapability ? terminal : undefined;
}
