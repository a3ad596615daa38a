/** Long-running work in PostgreSQL. @module callwire/work/postgres */
import { limitOf } from "../protocol/limits.ts";
import type { WorkPage, WorkQuery, WorkRecord, WorkStore } from "./work-store.ts";

/** What the store needs of a client, such as a `Pool` of the package `pg`. */
export interface PostgresClient {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
}

export interface PostgresWorkStoreOptions {
  /** The table, with its schema if it has one. @default "callwire_work" */
  readonly table?: string;
  /** How long a record is kept after its last change, unless it says otherwise. @default 604800000 */
  readonly ttlMs?: number;
}

/** Most expired records that are removed each time that one is added. */
const sweep = 100;

/**
 * Stores work in PostgreSQL, so that it survives its process, and every process of a fleet can answer for it.
 * `prepare` creates the table. Services that are not one fleet need tables of their own.
 * @example
 * ```ts
 * import { a2aAgent } from "callwire/a2a";
 * import { PostgresWorkStore } from "callwire/work/postgres";
 *
 * declare const pool: import("callwire/work/postgres").PostgresClient; // new Pool() of the package pg
 * const store = new PostgresWorkStore(pool);
 * await store.prepare();
 * const agent = a2aAgent({
 *   card: { name: "Parrot", description: "Repeats what it is told" },
 *   store,
 *   execute: (message) => message.text,
 * });
 * ```
 */
export class PostgresWorkStore implements WorkStore {
  readonly #client: PostgresClient;
  readonly #table: string;
  readonly #ttlMs: number;

  constructor(client: PostgresClient, options: PostgresWorkStoreOptions = {}) {
    const { table = "callwire_work" } = options;
    if (!/^\w+(\.\w+)?$/.test(table))
      throw new TypeError(
        `table must be a name such as "callwire_work", not ${JSON.stringify(table)}`,
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
      work_group text NOT NULL,
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

  async load(id: string): Promise<WorkRecord | undefined> {
    const { rows } = await this.#client.query(
      `SELECT record FROM ${this.#table} WHERE id = $1 AND expires_at > now()`,
      [id],
    );
    return recordsOf(rows)[0];
  }

  async save(record: WorkRecord): Promise<boolean> {
    const { id, owner, group, state, version, changedAt, ttlMs = this.#ttlMs } = record;
    const text = JSON.stringify(record);
    const values = [id, owner, group, state, changedAt, version, ttlMs, text];
    const expiry = "now() + $7 * interval '1 millisecond'";
    if (version > 1) {
      const { rowCount } = await this.#client.query(
        `UPDATE ${this.#table} SET owner = $2, work_group = $3, state = $4, changed_at = $5, version = $6,
          expires_at = ${expiry}, record = $8 WHERE id = $1 AND version = $6 - 1`,
        values,
      );
      return rowCount === 1;
    }
    await this.#sweep();
    const { rowCount } = await this.#client.query(
      `INSERT INTO ${this.#table} (id, owner, work_group, state, changed_at, version, expires_at, record)
        VALUES ($1, $2, $3, $4, $5, $6, ${expiry}, $8) ON CONFLICT (id) DO NOTHING`,
      values,
    );
    return rowCount === 1;
  }

  async remove(id: string): Promise<void> {
    await this.#client.query(`DELETE FROM ${this.#table} WHERE id = $1`, [id]);
  }

  async changed(known: ReadonlyMap<string, number>): Promise<WorkRecord[]> {
    const { rows } = await this.#client.query(
      `SELECT record FROM ${this.#table} AS stored
        JOIN unnest($1::text[], $2::integer[]) AS known (id, version) ON stored.id = known.id
        WHERE stored.version > known.version AND expires_at > now()`,
      [[...known.keys()], [...known.values()]],
    );
    return recordsOf(rows);
  }

  async list(query: WorkQuery): Promise<WorkPage> {
    const { owner, group, state, changedSince, after, limit } = query;
    const values: unknown[] = [owner];
    const value = (given: unknown): string => `$${values.push(given)}`;
    const conditions = ["owner = $1", "expires_at > now()"];
    if (group !== undefined) conditions.push(`work_group = ${value(group)}`);
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

function recordsOf(rows: readonly unknown[]): WorkRecord[] {
  return (rows as readonly { readonly record: string }[]).map(({ record }) => JSON.parse(record));
}
