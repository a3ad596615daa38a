import type { CredentialSource } from "../protocol/credentials.ts";
import type { Tap } from "../protocol/tap.ts";
import type { HeaderSource } from "./client-exchange.ts";

/** Options that all links over HTTP have. */
export interface FetchLinkOptions {
  /** Sent with every request; a function is called for each, and may be asynchronous. @default none */
  readonly headers?: HeaderSource;
  /**
   * Gets what authenticates the client, for each request. If the server answers with 401, it is called again with
   * `refused: true`, and the request is sent once more: nothing of it has run. @default none
   */
  readonly credentials?: CredentialSource;
  /** What a relative address is resolved against, such as "https://example.com" if a server renders pages. A link with a relative address uses `fetch` in Node too. @default the page */
  readonly baseUrl?: string | URL;
  /** Used instead of the global `fetch`. @default the global `fetch` */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Called with every message that is sent or received. @default none */
  readonly tap?: Tap;
}
