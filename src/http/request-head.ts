/** What a request says before its body; header values as they arrived. */
export interface RequestHead {
  readonly method: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`, which browsers send. */
  readonly site: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly contentLength: string | undefined;
  readonly accept: string | undefined;
  /** Whether a header that must be unique is repeated. */
  readonly isAmbiguous: boolean;
  /** Any header by its name in lower case; the values of a repeated one are joined by ", ". */
  get(name: string): string | undefined;
}

/** How long the caller still waits, from the header `timeout-ms`; undefined if that is not a number. */
export function timeoutOf(header: string | null | undefined): number | undefined {
  return header !== null && header !== undefined && /^\d{1,12}$/.test(header)
    ? Number(header)
    : undefined;
}
