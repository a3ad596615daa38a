import type { CallOptions } from "../../client/outgoing-call.ts";
import { isRpcError, WireError } from "../../protocol/errors.ts";
import { methodNotFound } from "../../protocol/standard-errors.ts";
import type { Result } from "../results.ts";
import type { ProtocolClient } from "./protocol-client.ts";
import { jsonLength } from "./result-cache.ts";
import { checkedShape, completed, list, object, type Shape } from "./result-shapes.ts";

/** Most characters of a whole list; a server could send one of any length, page by page. */
const longestList = 32 * 1024 * 1024;

/** A paged list: `for await (const each of list)`, or everything with `await list.all()`. */
export class Listing<T> implements AsyncIterable<T> {
  readonly #pages: () => AsyncGenerator<readonly T[], void, undefined>;

  constructor(pages: () => AsyncGenerator<readonly T[], void, undefined>) {
    this.#pages = pages;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.#pages()) yield* page;
  }

  async all(): Promise<T[]> {
    const all: T[] = [];
    let length = 0;
    for await (const page of this.#pages()) {
      length += jsonLength(page);
      if (length > longestList) {
        throw new WireError("TOO_LARGE", `the list has more than ${longestList} characters`);
      }
      for (const each of page) all.push(each);
    }
    return all;
  }
}

/** How to request a list and check its entries. */
export interface Listed {
  readonly method: string;
  /** The member of the result that holds the entries. */
  readonly member: string;
  readonly entry: Shape;
  /** The capability of a server that has such a list. */
  readonly capability: "tools" | "resources" | "prompts";
}

type Page = Result & Readonly<Record<string, unknown>>;

/** Most pages of one list; stops a server that issues cursors without end from filling memory. */
const mostPages = 10_000;

export function listing<T>(
  protocol: ProtocolClient,
  { method, member, entry, capability }: Listed,
  options: CallOptions | undefined,
  kept: (entries: readonly T[]) => readonly T[] = (entries) => entries,
): Listing<T> {
  const shape = object({ [member]: list(entry) });
  return new Listing(async function* () {
    let cursor: string | undefined;
    for (let page = 0; page < mostPages; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const asked = protocol.request<Page>(method, params, options).catch((error: unknown) => {
        // Asked in any case, because some servers have lists that they do not declare.
        const { server } = protocol;
        const mayLack = server !== undefined && server.capabilities[capability] === undefined;
        if (!mayLack || !isRpcError(error, methodNotFound.code)) throw error;
        return { [member]: [] } satisfies Page;
      });
      const result = completed(await asked);
      const { [member]: entries, nextCursor } = checkedShape(method, result, shape);
      yield kept(entries as T[]);
      if (typeof nextCursor !== "string" || nextCursor === cursor) return;
      cursor = nextCursor;
    }
  });
}
