import { isRpcError, WireError } from "callwire";

const missingCapability = -32021;
const pageRequired = -32042;
const terminal = "run this in a terminal to answer its questions";

export function errorHint(error: unknown): string | undefined {
  if (error instanceof WireError && error.status === 401) {
    return "use --sign-in, or --bearer with a token";
  }
  if (isRpcError(error, pageRequired)) {
    return "run this in a terminal to see the page";
  }
  if (!isRpcError(error, missingCapability)) return undefined;
  const { requiredCapabilities: needed = {} } = (error.data ?? {}) as {
    requiredCapabilities?: object;
  };
  return "elicitation" in needed ? terminal : undefined;
}

/** The same for an error in the result of a tool. */
export function toolHint(result: unknown): string | undefined {
  const { _meta } = result as { _meta?: Readonly<Record<string, unknown>> };
  const { code } = (_meta?.["callwire/error"] ?? {}) as { code?: unknown };
  return code === missingCapability ? terminal : undefined;
}
