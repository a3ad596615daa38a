import type { CallOptions } from "../../client/outgoing-call.ts";
import { badReply } from "../../protocol/pair.ts";
import type { Result } from "../results.ts";
import { completed } from "./completed.ts";
import type { Conversation } from "./conversation.ts";

/** A list that comes in pages: `for await (const each of list)`, or all of it with `await list.all()`. */
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
    for await (const page of this.#pages()) all.push(...page);
    return all;
  }
}

type Page = Result & Readonly<Record<string, unknown>>;

/** Most pages of one list; a server that gives out cursors for ever must not fill memory. */
const mostPages = 10_000;

/** The list that a method gives under a member of its results. */
export function listing<T>(
  conversation: Conversation,
  method: string,
  member: string,
  options: CallOptions | undefined,
  kept: (entries: readonly T[]) => readonly T[] = (entries) => entries,
): Listing<T> {
  return new Listing(async function* () {
    let cursor: string | undefined;
    for (let page = 0; page < mostPages; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const result = completed(await conversation.request<Page>(method, params, options));
      const entries = result?.[member];
      if (!Array.isArray(entries)) throw badReply(`the result of ${method} has no ${member}`);
      yield kept(entries as T[]);
      const { nextCursor } = result;
      if (typeof nextCursor !== "string" || nextCursor === cursor) return;
      cursor = nextCursor;
    }
  });
}
