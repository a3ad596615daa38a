import { stringHash } from "../../../protocol/string-hash.ts";
import { type NatsConnection, nanos } from "../client-library.ts";
import { requireInteger, requireMs, requireSubject } from "../options.ts";
import { Subjects } from "../subjects.ts";
import {
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "./client-library.ts";
import { managerOf, subjectsOf } from "./store.ts";

/** Where durable notifications are stored. Links and workers need the same values. */
export interface DurableOptions {
  /** Prefix of the subjects. */
  readonly subject: string;
  /** Name of the stream. @default the subject, in capitals and with _ for each dot */
  readonly stream?: string | undefined;
  /** How many keys can be handled at the same time; one notification of each partition is handled at a time. At most 1024. @default 0, no keys */
  readonly partitions?: number | undefined;
}

export interface StorageOptions {
  /** On how many nodes of a cluster each notification is stored. With 1, the loss of a disk loses notifications. @default 1 */
  readonly replicas?: number | undefined;
  /** `"memory"` loses all notifications when nats-server stops. @default "file" */
  readonly storage?: "file" | "memory" | undefined;
  /** How long a message id is remembered, so that a repetition is not stored again; at least 100. @default 120000 */
  readonly duplicateWindowMs?: number | undefined;
}

/** Each partition is a JetStream consumer of its own. */
const mostPartitions = 1_024;
const mostReplicas = 5;
/** JetStream rejects a shorter window, and takes 0 for two minutes. */
const leastWindowMs = 100;

/** The names that links and workers share, and the streams behind them. */
export class DurableQueue {
  readonly stream: string;
  readonly partitions: number;
  readonly #deadSubject: string;
  readonly #base: string;
  readonly #plain: Subjects;

  constructor({ subject, stream, partitions = 0 }: DurableOptions) {
    requireSubject(subject);
    requireInteger("partitions", partitions, 0, mostPartitions);
    this.#plain = new Subjects(`${subject}.any`);
    this.#base = subject;
    this.stream = stream ?? subject.toUpperCase().replaceAll(".", "_");
    this.partitions = partitions;
    this.#deadSubject = `${subject}-dead`;
  }

  /** All notifications without a key. */
  get plainFilter(): string {
    return `${this.#base}.any.>`;
  }

  /** Prefix of notifications with a key. It contains the number of partitions, so that a different number is noticed. */
  get #keyed(): string {
    return `${this.#base}.${this.partitions}`;
  }

  partitionFilter(partition: number): string {
    return `${this.#keyed}.${partition}.>`;
  }

  /** Notifications with the same key go to the same partition, which keeps their order. */
  subjectOf(method: string, key: string | undefined): string {
    if (key === undefined) return this.#plain.of(method);
    return `${this.#keyed}.${stringHash(key) % this.partitions}${this.#suffixOf(method)}`;
  }

  deadSubjectOf(subject: string): string {
    return this.#deadSubject + subject.slice(this.#base.length);
  }

  /** Whether notifications of this method are sent to this subject. */
  isCalledAt(subject: string, method: string): boolean {
    const keyed = `${this.#keyed}.`;
    const from = subject.startsWith(keyed)
      ? subject.indexOf(".", keyed.length)
      : this.#base.length + ".any".length;
    return subject.slice(from) === this.#suffixOf(method);
  }

  #suffixOf(method: string): string {
    return this.#plain.of(method).slice(this.#base.length + ".any".length);
  }

  /** Creates the streams that are missing; existing ones are left as their owner made them. */
  async create(connection: NatsConnection, options: StorageOptions): Promise<void> {
    const { replicas = 1, storage = "file", duplicateWindowMs = 120_000 } = options;
    requireInteger("replicas", replicas, 1, mostReplicas);
    requireMs("duplicateWindowMs", duplicateWindowMs, leastWindowMs);
    // A misspelt value must not store in memory.
    if (storage !== "file" && storage !== "memory") {
      throw new TypeError(`"storage" must be "file" or "memory", not "${storage}"`);
    }
    const manager = await managerOf(connection);
    const config = {
      num_replicas: replicas,
      storage: storage === "file" ? StorageType.File : StorageType.Memory,
      duplicate_window: nanos(duplicateWindowMs),
    };
    const plain = this.plainFilter;
    const subjects = await createStream(manager, {
      ...config,
      name: this.stream,
      subjects: this.partitions === 0 ? [plain] : [plain, `${this.#keyed}.>`],
      // Handled notifications are removed, so the length of the stream is the work left to do.
      retention: RetentionPolicy.Workqueue,
    });
    this.#requirePartitions(subjects);
    await createStream(manager, {
      ...config,
      name: `${this.stream}_DEAD`,
      subjects: [`${this.#deadSubject}.>`],
    });
  }

  /** With another number of partitions, no worker would handle some of the keys. */
  #requirePartitions(subjects: readonly string[]): void {
    const others = subjects.flatMap((subject) => {
      const [number] = subject.startsWith(`${this.#base}.`)
        ? subject.slice(this.#base.length + 1).split(".")
        : [];
      return /^[1-9]\d*$/.test(number ?? "") ? [Number(number)] : [];
    });
    const fits =
      this.partitions === 0
        ? others.length === 0 && coversAll(`${this.#base}.any`, subjects)
        : coversAll(this.#keyed, subjects);
    if (fits) return;
    const isFor = others.length === 0 ? "no partitions" : `${others.join(" and ")} partitions`;
    throw new Error(
      `the stream ${this.stream} has the subjects ${subjects.join(", ")}, so it is for ${isFor}, not for ${this.partitions}`,
    );
  }
}

/** Error codes for a stream that another worker creates at the same moment; JetStream may report that as overlapping subjects. */
const concurrentCreation: readonly unknown[] = [10_058, 10_065];

/** Creates a stream unless it exists, and returns its subjects. */
async function createStream(
  manager: JetStreamManager,
  config: Partial<StreamConfig> & { readonly name: string },
): Promise<readonly string[]> {
  const before = await subjectsOf(manager, config.name);
  if (before !== undefined) return before;
  try {
    return (await manager.streams.add(config)).config.subjects ?? [];
  } catch (error) {
    const after = concurrentCreation.includes((error as { code?: unknown }).code)
      ? await subjectsOf(manager, config.name)
      : undefined;
    // Without such a stream, the subjects do overlap with those of another.
    if (after === undefined) throw error;
    return after;
  }
}

/** Whether these filters match every subject under a prefix. */
function coversAll(prefix: string, filters: readonly string[]): boolean {
  const tokens = prefix.split(".");
  return filters.some((filter) => {
    const parts = filter.split(".");
    const rest = parts.indexOf(">");
    if (rest === -1 || rest > tokens.length) return false;
    return parts.slice(0, rest).every((part, i) => part === "*" || part === tokens[i]);
  });
}

/**
 * The limits that make a stream drop stored notifications that were not handled. `max_bytes` is one even with `discard: "new"`, because
 * nats-server 2.9 underestimates the new message and then makes room for it.
 */
export function droppingLimits(config: StreamConfig): readonly string[] {
  const rejecting: string[] = [];
  if (config.discard === "new") {
    rejecting.push("max_msgs");
    if (config.discard_new_per_subject) rejecting.push("max_msgs_per_subject");
  }
  return (["max_age", "max_msgs", "max_bytes", "max_msgs_per_subject"] as const).filter(
    (name) => (config[name] ?? 0) > 0 && !rejecting.includes(name),
  );
}
