/** What a request says before its body. Names in lower case; values as they came. */
export interface RequestHead {
  readonly method: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly site: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly contentLength: string | undefined;
  readonly accept: string | undefined;
  readonly lastEventId: string | undefined;
  readonly authorization: string | undefined;
  readonly requestedHeaders: string | undefined;
  /** Whether a header that may stand once stands twice. */
  readonly doubled: boolean;
}
