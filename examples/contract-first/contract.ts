import { method, stream } from "callwire";
import { z } from "zod";

const book = z.object({ isbn: z.string(), title: z.string(), year: z.int() });

/** The contract of both teams, without server code. */
export const contract = {
  books: {
    find: method({
      summary: "Find a book by its number",
      params: z.object({ isbn: z.string() }),
      result: book,
      errors: { NO_SUCH_BOOK: { code: 1001, data: z.object({ isbn: z.string() }) } },
      idempotent: true,
    }),
    list: stream({
      summary: "List the books of a year and later ones",
      params: z.object({ since: z.int() }),
      item: book,
    }),
  },
};
