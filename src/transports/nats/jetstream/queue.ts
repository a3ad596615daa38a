import type { NatsConnection } from "../client-library.ts";
import { Subjects } from "../subjects.ts";
import { jetstreamManager, RetentionPolicy, StorageType } from "./client-library.ts";

/** Where durable notifications are kept. Publishers and workers have to say the same. */
export interface DurableOptions {
  /** What the subjects begin with. */
  readonly subject: string;
  /** The name of the stream. @default the subject, in capitals and with _ for each dot */
  readonly stream?: string | undefined;
  /** In how many rows those with a key wait; one of each row is at work at a time. @default 0, no keys */
  readonly partitions?: number | undefined;
}

export interface StorageOptions {
  /** On how many nodes of a cluster each notification is kept. @default 1 */
  readonly replicas?: number | undefined;
  /** @default "file" */
  readonly storage?: "file" | "memory" | undefined;
  /** How long a notification with the same message id is known as a repetition. @default 120000 */
  readonly duplicateWindowMs?: number | undefined;
}

const nanosecondsPerMs = 1e6;

/** The names that publishers and workers share. */
export class DurableQueue {
  readonly stream: string;
  readonly partitions: number;
  readonly deadStream: string;
  /** Everything that nobody could handle is kept below this. */
  readonly deadSubject: string;
  readonly #base: string;
  readonly #plain: Subjects;

  constructor({ subject, stream, partitions = 0 }: DurableOptions) {
    this.#plain = new Subjects(`${subject}.any`);
    this.#base = subject;
    this.stream = stream ?? subject.toUpperCase().replaceAll(".", "_");
    this.partitions = partitions;
    this.deadStream = `${this.stream}_DEAD`;
    this.deadSubject = `${subject}-dead`;
  }

  /** All that is not keyed. */
  get plainFilter(): string {
    return `${this.#base}.any.>`;
  }

  /** All that has a key of this partition. */
  partitionFilter(partition: number): string {
    return `${this.#base}.k${partition}.>`;
  }

  /** Where a notification goes: those with one key go one way, so that they stay in order. */
  subjectOf(method: string, key: string | undefined): string {
    const plain = this.#plain.of(method);
    if (key === undefined) return plain;
    const partition = hash(key) % this.partitions;
    return `${this.#base}.k${partition}${plain.slice(this.#base.length + ".any".length)}`;
  }

  /** Where one that could not be handled goes, from where it was. */
  deadSubjectOf(subject: string): string {
    return this.deadSubject + subject.slice(this.#base.length);
  }

  /** Makes both streams unless they are there; one that is there is left as its owner made it. */
  async create(connection: NatsConnection, options: StorageOptions): Promise<void> {
    const manager = await jetstreamManager(connection);
    const { replicas = 1, storage = "file", duplicateWindowMs = 120_000 } = options;
    const kept = {
      num_replicas: replicas,
      storage: storage === "file" ? StorageType.File : StorageType.Memory,
      duplicate_window: duplicateWindowMs * nanosecondsPerMs,
    };
    const existing = new Set<string>();
    for await (const name of manager.streams.names()) existing.add(name);
    if (!existing.has(this.stream)) {
      await manager.streams.add({
        ...kept,
        name: this.stream,
        subjects: [`${this.#base}.>`],
        // What was handled is gone, so that the stream is as long as what is still to do.
        retention: RetentionPolicy.Workqueue,
      });
    }
    if (!existing.has(this.deadStream)) {
      await manager.streams.add({
        ...kept,
        name: this.deadStream,
        subjects: [`${this.deadSubject}.>`],
      });
    }
  }
}

/** FNV-1a; it must be the same in every process and version. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  }
  return value >>> 0;
}
