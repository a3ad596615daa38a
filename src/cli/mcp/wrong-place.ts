import { ErrorCode, isRpcError, WireError } from "callwire";
import { mcpClient } from "callwire/mcp/client";
import { callFailure } from "../call-failure.ts";
import type { Failure } from "../failure.ts";
import { isNowhere } from "../inspect/prober.ts";
import { isHttpUrl } from "../link-from-url.ts";
import { version } from "../version.ts";
import { wireFrom } from "./wire.ts";

/** What a failure to begin says of the address, if nobody speaks MCP there; it looks at the usual path instead. */
export async function wrongPlace(
  url: string,
  headers: Readonly<Record<string, string>>,
  error: unknown,
): Promise<Failure | undefined> {
  const isMethods = isRpcError(error, ErrorCode.MethodNotFound);
  const isNothing = error instanceof WireError && isNowhere(error.status);
  if (!isHttpUrl(url) || !(isMethods || isNothing)) return undefined;
  const usual = new URL("/mcp", url).href;
  const isThere = usual !== url && (await speaksMcp(usual, headers));
  const what = isMethods ? "; it is no address of MCP" : "";
  return callFailure(url, error).advised(
    what + (isThere ? `; try ${usual}` : isNothing ? "; is the path right?" : ""),
  );
}

async function speaksMcp(url: string, headers: Readonly<Record<string, string>>): Promise<boolean> {
  const wire = wireFrom(url, { headers, authorization: undefined, tap: undefined });
  await using client = mcpClient(wire, { name: "callwire", version, timeoutMs: 2000 });
  return await client.connect().then(
    () => true,
    // It asks who calls, so there is somebody.
    (error: unknown) => error instanceof WireError && error.status === 401,
  );
}
