/** Authorization came to nothing. `reason` is the code of the authorization server, where it gave one. */
export class OAuthError extends Error {
  readonly reason: string | undefined;

  constructor(message: string, options: { cause?: unknown; reason?: string } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "OAuthError";
    this.reason = options.reason;
  }
}
