import { fetchHandler } from "callwire/http";
import { theBoard } from "../../board.ts";

// Next does not pass on the address of the client, which limits need, but the proxy in front of it does. Without a proxy
// a client could write this header itself.
const handler = fetchHandler(theBoard().server, {
  remoteAddress: (request) => request.headers.get("x-forwarded-for")?.split(",").at(-1)?.trim(),
});

export const POST = handler;
export const GET = handler;
