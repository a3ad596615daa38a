import { createServer, implement } from "callwire";
import { serveHttp } from "callwire/http/node";
import { contract } from "./contract.ts";

const shelf = [
  { isbn: "978-0131103627", title: "The C Programming Language", year: 1988 },
  {
    isbn: "978-0262510875",
    title: "Structure and Interpretation of Computer Programs",
    year: 1996,
  },
];

const methods = implement(contract, {
  books: {
    find({ isbn }, _call, errors) {
      const book = shelf.find((entry) => entry.isbn === isbn);
      if (book === undefined) throw errors.NO_SUCH_BOOK({ isbn });
      return book;
    },
    *list({ since }) {
      for (const book of shelf) if (book.year >= since) yield book;
    },
  },
});

const { url } = await serveHttp(createServer(methods), {
  port: Number(process.env.PORT ?? 8000),
});
console.log(`Listening on ${url}`);
