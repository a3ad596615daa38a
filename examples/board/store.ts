/** Tasks in SQLite. This build of it is WebAssembly, which needs no compiler and no particular Node. */
import sqlite from "node-sqlite3-wasm";
import type { Task } from "./contract.ts";

interface Row extends Omit<Task, "done"> {
  readonly done: number;
}

/** A file of a task. */
export interface Attachment {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const columns = `id, title, done, by,
  (SELECT name FROM attachments WHERE task = tasks.id) AS attachment`;

export class TaskStore {
  readonly #db: InstanceType<typeof sqlite.Database>;

  /** `file` is a path, or ":memory:". */
  constructor(file: string) {
    this.#db = new sqlite.Database(file);
    this.#db.exec(
      `CREATE TABLE IF NOT EXISTS tasks (
        id TEXT PRIMARY KEY, title TEXT NOT NULL, done INTEGER NOT NULL, by TEXT NOT NULL
      );
      CREATE TABLE IF NOT EXISTS attachments (
        task TEXT PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, bytes BLOB NOT NULL
      )`,
    );
  }

  list(): Task[] {
    return this.#read(`SELECT ${columns} FROM tasks ORDER BY rowid`, []);
  }

  find(id: string): Task | undefined {
    return this.#read(`SELECT ${columns} FROM tasks WHERE id = ?`, [id])[0];
  }

  save({ id, title, done, by }: Task): void {
    this.#db.run(
      `INSERT INTO tasks (id, title, done, by) VALUES (?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET title = excluded.title, done = excluded.done, by = excluded.by`,
      [id, title, done ? 1 : 0, by],
    );
  }

  remove(id: string): void {
    this.#db.run("DELETE FROM attachments WHERE task = ?", [id]);
    this.#db.run("DELETE FROM tasks WHERE id = ?", [id]);
  }

  attach(id: string, { name, type, bytes }: Attachment): void {
    this.#db.run(
      "INSERT OR REPLACE INTO attachments (task, name, type, bytes) VALUES (?, ?, ?, ?)",
      [id, name, type, bytes],
    );
  }

  attachment(id: string): Attachment | undefined {
    const query = "SELECT name, type, bytes FROM attachments WHERE task = ?";
    return (this.#db.get(query, [id]) as unknown as Attachment | null) ?? undefined;
  }

  close(): void {
    this.#db.close();
  }

  #read(query: string, values: string[]): Task[] {
    const rows = this.#db.all(query, values) as unknown as Row[];
    return rows.map((row) => ({ ...row, done: row.done === 1 }));
  }
}
