import type { Transport } from "../../protocol/origin.ts";
import type { HttpRequestFacts } from "../../protocol/seal.ts";
import type { SignedMessage } from "./http-signature.ts";

/** A request as it came, for its signature. */
export function arrivedRequest(
  { method, authority, target }: HttpRequestFacts,
  headers: Transport["headers"],
): SignedMessage {
  return requestMessage(method, authority, target, (name) => {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    return typeof value === "object" ? value.join(", ") : value;
  });
}

/** A request that is about to leave. */
export function leavingRequest(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
): SignedMessage {
  const { host, pathname, search } = new URL(url);
  return requestMessage(method, host, pathname + search, headerOf(headers));
}

export function headerOf(
  headers: Readonly<Record<string, string>>,
): (name: string) => string | undefined {
  return (name) => (Object.hasOwn(headers, name) ? headers[name] : undefined);
}

/** The query with its question mark, or undefined where there is none. */
export function queryOf(target: string): string | undefined {
  const start = target.indexOf("?");
  return start === -1 ? undefined : target.slice(start);
}

function requestMessage(
  method: string,
  authority: string,
  target: string,
  header: (name: string) => string | undefined,
): SignedMessage {
  return {
    header,
    derived(name) {
      switch (name) {
        case "@method":
          return method;
        case "@authority":
          return authority.toLowerCase();
        case "@path":
          return pathOf(target);
        case "@query":
          return queryOf(target) ?? "?";
        default:
          return undefined;
      }
    },
  };
}

/** Without the query, and without the scheme and host that proxies write before it. */
function pathOf(target: string): string {
  const path = target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "");
  const query = path.indexOf("?");
  const alone = query === -1 ? path : path.slice(0, query);
  return alone === "" ? "/" : alone;
}
