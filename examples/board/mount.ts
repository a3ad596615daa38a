import type { Board } from "./board.ts";
import type { PageFile } from "./page.ts";

/** Serves a board and its page in a web framework. */
export type Mount = (
  board: Board,
  page: ReadonlyMap<string, PageFile>,
  port: number,
) => Promise<Mounted>;

export interface Mounted {
  readonly url: string;
  close(): Promise<void>;
}
