/**
 * Authorization came to nothing. `reason` is the code of the authorization server, where it gave one.
 * @example
 * ```ts
 * import { type McpClient, OAuthError } from "callwire/mcp/client";
 *
 * export async function add(client: McpClient): Promise<void> {
 *   try {
 *     await client.callTool("math_add", { a: 2, b: 3 });
 *   } catch (error) {
 *     if (error instanceof OAuthError) console.error("not signed in:", error.reason);
 *     else throw error;
 *   }
 * }
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
