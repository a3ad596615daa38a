/** Tasks in SQLite. This build of it is WebAssembly, which needs no compiler and no particular Node. */
import sqlite from "node-sqlite3-wasm";
import type { Task } from "./contract.ts";

interface Row extends Omit<Task, "done"> {
  readonly done: number;
}

export class TaskStore {
  readonly #db: InstanceType<typeof sqlite.Database>;

  /** `file` is a path, or ":memory:". */
  constructor(file: string) {
    this.#db = new sqlite.Database(file);
    this.#db.exec(
      `CREATE TABLE IF NOT EXISTS tasks (
        id TEXT PRIMARY KEY, title TEXT NOT NULL, done INTEGER NOT NULL, by TEXT NOT NULL
      )`,
    );
  }

  list(): Task[] {
    return this.#read("SELECT id, title, done, by FROM tasks ORDER BY rowid", []);
  }

  find(id: string): Task | undefined {
    return this.#read("SELECT id, title, done, by FROM tasks WHERE id = ?", [id])[0];
  }

  save({ id, title, done, by }: Task): void {
    this.#db.run(
      `INSERT INTO tasks (id, title, done, by) VALUES (?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET title = excluded.title, done = excluded.done, by = excluded.by`,
      [id, title, done ? 1 : 0, by],
    );
  }

  remove(id: string): void {
    this.#db.run("DELETE FROM tasks WHERE id = ?", [id]);
  }

  close(): void {
    this.#db.close();
  }

  #read(query: string, values: string[]): Task[] {
    const rows = this.#db.all(query, values) as unknown as Row[];
    return rows.map((row) => ({ ...row, done: row.done === 1 }));
  }
}
