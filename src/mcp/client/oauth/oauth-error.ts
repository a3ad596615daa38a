/**
 * Authorization came to nothing. `reason` is the code of the authorization server, where it gave one.
 * @example
 * ```ts
 * import { mcpClient, mcpHttpLink, OAuthError, oauth } from "callwire/mcp/client";
 *
 * const link = mcpHttpLink("https://example.com/mcp", { authorization: oauth({}) });
 * const client = mcpClient(link, { name: "my-host", version: "1.0.0" });
 * await client.callTool("math_add", { a: 2, b: 3 }).catch((error: unknown) => {
 *   if (error instanceof OAuthError) console.error("not signed in:", error.reason);
 * });
 * ```
 */
export class OAuthError extends Error {
  readonly reason: string | undefined;

  constructor(message: string, options: { cause?: unknown; reason?: string } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "OAuthError";
    this.reason = options.reason;
  }
}
