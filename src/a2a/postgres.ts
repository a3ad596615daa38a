/** Tasks of A2A agents in PostgreSQL. @module callwire/a2a/postgres */
import { limitOf } from "../protocol/limits.ts";
import type { TaskPage, TaskQuery, TaskRecord, TaskStore } from "./task-store.ts";

/** What the store needs of a client, such as a `Pool` of the package `pg`. */
export interface PostgresClient {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
}

export interface PostgresTaskStoreOptions {
  /** The table, with its schema if it has one. @default "callwire_tasks" */
  readonly table?: string;
  /** How long a task is kept after its last change. @default 604800000 */
  readonly ttlMs?: number;
}

/** Most tasks that are removed each time that one is added. */
const sweep = 100;

/**
 * Keeps tasks in PostgreSQL, so that they survive their process, and every process of a fleet can answer for them.
 * `prepare` creates the table.
 * @example
 * ```ts
 * import { a2aAgent } from "callwire/a2a";
 * import { PostgresTaskStore } from "callwire/a2a/postgres";
 *
 * declare const pool: import("callwire/a2a/postgres").PostgresClient; // new Pool() of the package pg
 * const store = new PostgresTaskStore(pool);
 * await store.prepare();
 * const agent = a2aAgent({
 *   card: { name: "Parrot", description: "Repeats what it is told" },
 *   store,
 *   execute: (message) => message.text,
 * });
 * ```
 */
export class PostgresTaskStore implements TaskStore {
  readonly isShared = true;
  readonly #client: PostgresClient;
  readonly #table: string;
  readonly #ttlMs: number;

  constructor(client: PostgresClient, options: PostgresTaskStoreOptions = {}) {
    const { table = "callwire_tasks" } = options;
    if (!/^\w+(\.\w+)?$/.test(table))
      throw new TypeError(
        `table must be a name such as "callwire_tasks", not ${JSON.stringify(table)}`,
      );
    this.#client = client;
    this.#table = table;
    this.#ttlMs = limitOf("ttlMs", options.ttlMs, 7 * 24 * 3_600_000);
  }

  /** Creates the table and its indexes, if there are none. */
  async prepare(): Promise<void> {
    const table = this.#table;
    const index = table.replace(".", "_");
    await this.#client.query(`CREATE TABLE IF NOT EXISTS ${table} (
      id text PRIMARY KEY,
      owner text NOT NULL,
      context_id text NOT NULL,
      state text NOT NULL,
      changed_at bigint NOT NULL,
      version integer NOT NULL,
      expires_at timestamptz NOT NULL,
      record text NOT NULL
    )`);
    await this.#client.query(
      `CREATE INDEX IF NOT EXISTS ${index}_list ON ${table} (owner, changed_at DESC, id)`,
    );
    await this.#client.query(`CREATE INDEX IF NOT EXISTS ${index}_expiry ON ${table} (expires_at)`);
  }

  async load(id: string): Promise<TaskRecord | undefined> {
    const { rows } = await this.#client.query(
      `SELECT record FROM ${this.#table} WHERE id = $1 AND expires_at > now()`,
      [id],
    );
    return recordsOf(rows)[0];
  }

  async save(record: TaskRecord): Promise<boolean> {
    const { task, owner, version, changedAt } = record;
    const values = [
      task.id,
      owner,
      task.contextId,
      task.status.state,
      changedAt,
      version,
      this.#ttlMs,
      JSON.stringify(record),
    ];
    const expiry = "now() + $7 * interval '1 millisecond'";
    if (version > 1) {
      const { rowCount } = await this.#client.query(
        `UPDATE ${this.#table} SET owner = $2, context_id = $3, state = $4, changed_at = $5, version = $6,
          expires_at = ${expiry}, record = $8 WHERE id = $1 AND version = $6 - 1`,
        values,
      );
      return rowCount === 1;
    }
    await this.#sweep();
    const { rowCount } = await this.#client.query(
      `INSERT INTO ${this.#table} (id, owner, context_id, state, changed_at, version, expires_at, record)
        VALUES ($1, $2, $3, $4, $5, $6, ${expiry}, $8) ON CONFLICT (id) DO NOTHING`,
      values,
    );
    return rowCount === 1;
  }

  async list({
    owner,
    contextId,
    state,
    changedSince,
    after,
    limit,
  }: TaskQuery): Promise<TaskPage> {
    const values: unknown[] = [owner];
    const value = (given: unknown): string => `$${values.push(given)}`;
    const conditions = ["owner = $1", "expires_at > now()"];
    if (contextId !== undefined) conditions.push(`context_id = ${value(contextId)}`);
    if (state !== undefined) conditions.push(`state = ${value(state)}`);
    if (changedSince !== undefined) conditions.push(`changed_at >= ${value(changedSince)}`);
    const matching = conditions.join(" AND ");
    const counted = await this.#client.query(
      `SELECT count(*)::integer AS total FROM ${this.#table} WHERE ${matching}`,
      [...values],
    );
    let rest = matching;
    if (after !== undefined) {
      const at = value(after.changedAt);
      rest += ` AND (changed_at < ${at} OR (changed_at = ${at} AND id COLLATE "C" > ${value(after.id)}))`;
    }
    const { rows } = await this.#client.query(
      `SELECT record FROM ${this.#table} WHERE ${rest} ORDER BY changed_at DESC, id COLLATE "C" LIMIT ${value(limit)}`,
      values,
    );
    const [first] = counted.rows as readonly { readonly total: number }[];
    return { records: recordsOf(rows), total: first?.total ?? 0 };
  }

  async #sweep(): Promise<void> {
    await this.#client.query(
      `DELETE FROM ${this.#table} WHERE id IN
        (SELECT id FROM ${this.#table} WHERE expires_at <= now() LIMIT ${sweep} FOR UPDATE SKIP LOCKED)`,
    );
  }
}

function recordsOf(rows: readonly unknown[]): TaskRecord[] {
  return (rows as readonly { readonly record: string }[]).map(({ record }) => JSON.parse(record));
}
