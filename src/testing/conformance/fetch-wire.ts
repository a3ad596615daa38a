import { chunksOf, type HeaderRecord, readText } from "../../http/client-exchange.ts";
import type { ExchangeWire } from "./wire.ts";

export interface FetchWireOptions {
  readonly headers?: HeaderRecord;
  /** @default the global fetch */
  readonly fetch?: typeof fetch;
}

const longestAnswer = 64 * 1024 * 1024;

/** HTTP by means of `fetch`, for browsers too. Cases that need odd bytes are passed over. */
export function fetchConformanceWire(url: string, options: FetchWireOptions = {}): ExchangeWire {
  const { fetch: send = globalThis.fetch, headers: own = {} } = options;
  return {
    kind: "exchange",
    name: "HTTP",
    address: url,
    abilities: new Set(["http"]),
    async exchange({ verb, headers, body }, signal) {
      const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
      const response = await send(url, {
        method: verb,
        // A string would bring a type of its own where none is wanted.
        ...(verb === "GET" ? undefined : { body: new Uint8Array(bytes) }),
        headers: { ...headers, ...own },
        redirect: "manual",
        signal,
      });
      const text = await readText(chunksOf(response.body), longestAnswer);
      return { status: response.status, headers: Object.fromEntries(response.headers), body: text };
    },
  };
}
