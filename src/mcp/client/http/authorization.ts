/** A response that asks for a token, or for a better one. */
export interface Challenge {
  readonly status: 401 | 403;
  /** The header `WWW-Authenticate`. */
  readonly header: string | undefined;
  /** The token that was sent, if one was. */
  readonly token: string | undefined;
  /** The MCP endpoint. */
  readonly url: string;
  /** How often the request was sent. */
  readonly attempt: number;
}

/** Gives the tokens of a wire; `oauth` makes one. */
export interface Authorization {
  /** The token to send with a request, or undefined while there is none. */
  token(url: string): Promise<string | undefined>;
  /** Resolves with true when the request is worth sending again. */
  challenged(challenge: Challenge): Promise<boolean>;
}
