/** The board of this process. Next loads modules once for pages and once more for routes, so they share it here. */
import { type Board, createBoard } from "../board/board.ts";

const own = globalThis as { board?: Board };

export function theBoard(): Board {
  own.board ??= createBoard({
    file: process.env.BOARD_DB ?? ":memory:",
    // Of an example only: a real one comes from outside.
    secret: process.env.BOARD_SECRET ?? "a secret of at least thirty-two bytes",
    passwords: { ann: "apple", bob: "banana" },
    audit: () => {},
  });
  return own.board;
}

/** Calls methods without a wire, for one user. A real application gets the user from a session. */
export function visitor() {
  return theBoard().server.caller({ principal: { id: "visitor" } });
}
