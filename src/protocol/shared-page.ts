/** A page about several processes together, such as their metrics. A snapshot must survive JSON. */
export interface SharedPage {
  /** The content of this process. */
  snapshot(): unknown;
  /** The content of several processes. */
  merged(snapshots: readonly unknown[]): unknown;
  /** The part of a snapshot that still counts after its process has ended. */
  remains(snapshot: unknown): unknown;
  /** Answers a request with the content of a snapshot. */
  show(snapshot: unknown, request: PageRequest, response: PageResponse): void;
}

/** The part of a request of Node that a page reads. */
export interface PageRequest {
  readonly method?: string | undefined;
  readonly headers: { readonly accept?: string | undefined };
}

/** The part of a response of Node that a page writes. */
export interface PageResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(text?: string): unknown;
}

export function isSharedPage(page: unknown): page is SharedPage {
  return typeof page === "function" && "snapshot" in page && "merged" in page;
}
