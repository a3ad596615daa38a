import { createClient, safe } from "callwire";
import { httpLink } from "callwire/http";
import type { contract } from "./contract.ts";

const url = process.argv[2] ?? "http://127.0.0.1:8000/rpc";
await using client = createClient<typeof contract>(httpLink(url));
const { books } = client.api;

const { title } = await books.find({ isbn: "978-0131103627" });
console.log("Found:", title);

const missing = await safe(books.find({ isbn: "0" }));
// The code identifies the error, and so the type of its data.
if (missing.error?.code === 1001) console.log("There is no book", missing.error.data.isbn);

for await (const book of books.list({ since: 1990 })) console.log("Listed:", book.title);
