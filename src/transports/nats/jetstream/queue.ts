import type { NatsConnection } from "../client-library.ts";
import { requireInteger, requireMs } from "../option-checks.ts";
import { requireSubject, Subjects } from "../subjects.ts";
import {
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "./client-library.ts";
import { managerOf } from "./refusal.ts";
import { isTaken, subjectsOf } from "./stream-subjects.ts";

/** Where durable notifications are kept. Publishers and workers have to say the same. */
export interface DurableOptions {
  /** What the subjects begin with. */
  readonly subject: string;
  /** The name of the stream. @default the subject, in capitals and with _ for each dot */
  readonly stream?: string | undefined;
  /** In how many rows those with a key wait; one of each row is at work at a time. At most 1024. @default 0, no keys */
  readonly partitions?: number | undefined;
}

export interface StorageOptions {
  /** On how many nodes of a cluster each notification is kept. @default 1 */
  readonly replicas?: number | undefined;
  /** Where JetStream keeps notifications; those in memory are lost when it restarts. @default "file" */
  readonly storage?: "file" | "memory" | undefined;
  /** How long a notification with the same message id is known as a repetition, 100 at least. @default 120000 */
  readonly duplicateWindowMs?: number | undefined;
  /** Whether a second stream takes what comes while the nodes elect who leads the first. @default with three replicas or more */
  readonly spare?: boolean | undefined;
}

const nanosecondsPerMs = 1e6;
/** Each is a consumer of its own in the engine. */
const mostPartitions = 1_024;
const mostReplicas = 5;
/** The engine takes none that is shorter, and 0 for two minutes. */
const leastWindowMs = 100;
/** With fewer, the loss of one node stops them all. */
const replicasWithSpare = 3;

/** The names that publishers and workers share. */
export class DurableQueue {
  readonly stream: string;
  readonly partitions: number;
  readonly spareStream: string;
  readonly deadStream: string;
  /** Everything that nobody could handle is kept below this. */
  readonly deadSubject: string;
  readonly #base: string;
  readonly #spareBase: string;
  readonly #plain: Subjects;

  constructor({ subject, stream, partitions = 0 }: DurableOptions) {
    requireSubject(subject);
    requireInteger("partitions", partitions, 0, mostPartitions);
    this.#plain = new Subjects(`${subject}.any`);
    this.#base = subject;
    this.stream = stream ?? subject.toUpperCase().replaceAll(".", "_");
    this.partitions = partitions;
    this.spareStream = `${this.stream}_SPARE`;
    this.#spareBase = `${subject}-spare`;
    this.deadStream = `${this.stream}_DEAD`;
    this.deadSubject = `${subject}-dead`;
  }

  /** All that is not keyed. */
  get plainFilter(): string {
    return `${this.#base}.any.>`;
  }

  /** All that is handled from the spare stream. */
  get spareFilter(): string {
    return `${this.#spareBase}.any.>`;
  }

  /** All that is taken home from the spare stream. */
  get backFilter(): string {
    return `${this.#spareBase}.back.>`;
  }

  /** All that has a key. The number is in the name, so that nobody mistakes it for another. */
  get #keyed(): string {
    return `${this.#base}.${this.partitions}`;
  }

  /** All that has a key of this partition. */
  partitionFilter(partition: number): string {
    return `${this.#keyed}.${partition}.>`;
  }

  /** Where a notification goes: those with one key go one way, so that they stay in order. */
  subjectOf(method: string, key: string | undefined): string {
    if (key === undefined) return this.#plain.of(method);
    const partition = hash(key) % this.partitions;
    return `${this.#keyed}.${partition}${this.#restOf(method)}`;
  }

  /** Where one that has no key may go while nobody takes it at home: to be handled there, or to be taken home. */
  spareSubjectsOf(method: string): { readonly any: string; readonly back: string } {
    const rest = this.#restOf(method);
    return { any: `${this.#spareBase}.any${rest}`, back: `${this.#spareBase}.back${rest}` };
  }

  /** Where one belongs that was sent to the spare stream to be taken home. */
  homeOf(back: string): string {
    return `${this.#base}.any${back.slice(this.#spareBase.length + ".back".length)}`;
  }

  /** Where one that could not be handled goes, from where it was. */
  deadSubjectOf(subject: string): string {
    return this.deadSubject + subject.slice(this.#baseOf(subject).length);
  }

  /** Whether this is where notifications of a method are handled from. */
  isCalledAt(subject: string, method: string): boolean {
    const keyed = `${this.#keyed}.`;
    const from = subject.startsWith(keyed)
      ? subject.indexOf(".", keyed.length)
      : this.#baseOf(subject).length + ".any".length;
    return subject.slice(from) === this.#restOf(method);
  }

  #baseOf(subject: string): string {
    return subject.startsWith(`${this.#spareBase}.`) ? this.#spareBase : this.#base;
  }

  /** What the subjects of a method end with. */
  #restOf(method: string): string {
    return this.#plain.of(method).slice(this.#base.length + ".any".length);
  }

  /**
   * Makes the streams unless they are there; one that is there is left as its owner made it. Says whether
   * there is a spare one.
   */
  async create(connection: NatsConnection, options: StorageOptions): Promise<boolean> {
    const { replicas = 1, storage = "file", duplicateWindowMs = 120_000 } = options;
    const { spare = replicas >= replicasWithSpare } = options;
    requireInteger("replicas", replicas, 1, mostReplicas);
    requireMs("duplicateWindowMs", duplicateWindowMs, leastWindowMs);
    // Anything else would be kept in memory, and lost with it.
    if (storage !== "file" && storage !== "memory") {
      throw new TypeError(`storage is "file" or "memory", not "${storage}"`);
    }
    const manager = await managerOf(connection);
    const kept = {
      num_replicas: replicas,
      storage: storage === "file" ? StorageType.File : StorageType.Memory,
      duplicate_window: duplicateWindowMs * nanosecondsPerMs,
    };
    const plain = this.plainFilter;
    const taken = await made(manager, {
      ...kept,
      name: this.stream,
      subjects: this.partitions === 0 ? [plain] : [plain, `${this.#keyed}.>`],
      // What was handled is gone, so that the stream is as long as what is still to do.
      retention: RetentionPolicy.Workqueue,
    });
    this.#mustFit(taken);
    await made(manager, {
      ...kept,
      name: this.deadStream,
      subjects: [`${this.deadSubject}.>`],
    });
    // One that other workers made is served too: what it has must not wait for them.
    if (!spare) return (await subjectsOf(manager, this.spareStream)) !== undefined;
    await made(manager, {
      ...kept,
      name: this.spareStream,
      subjects: [this.spareFilter, this.backFilter],
      retention: RetentionPolicy.Workqueue,
    });
    return true;
  }

  /** With another number of partitions, some keys would wait for a worker that never comes. */
  #mustFit(taken: readonly string[]): void {
    const others = taken.flatMap((subject) => {
      const [number] = subject.startsWith(`${this.#base}.`)
        ? subject.slice(this.#base.length + 1).split(".")
        : [];
      return /^[1-9]\d*$/.test(number ?? "") ? [Number(number)] : [];
    });
    const fits =
      this.partitions === 0
        ? others.length === 0 && isTaken(`${this.#base}.any`, taken)
        : isTaken(this.#keyed, taken);
    if (fits) return;
    const isFor = others.length === 0 ? "no partitions" : `${others.join(" and ")} partitions`;
    throw new Error(
      `the stream ${this.stream} takes ${taken.join(", ")}, so it is for ${isFor}, not for ${this.partitions}`,
    );
  }
}

/**
 * Codes for a stream that another worker has just made: in another way, or in the same way at the same moment,
 * where the engine takes the two for two streams whose subjects overlap.
 */
const justMade: readonly unknown[] = [10_058, 10_065];

/** Makes a stream unless it is there, and says what it takes. */
async function made(
  manager: JetStreamManager,
  config: Partial<StreamConfig> & { readonly name: string },
): Promise<readonly string[]> {
  const before = await subjectsOf(manager, config.name);
  if (before !== undefined) return before;
  try {
    return (await manager.streams.add(config)).config.subjects ?? [];
  } catch (error) {
    const after = justMade.includes((error as { code?: unknown }).code)
      ? await subjectsOf(manager, config.name)
      : undefined;
    // Subjects that overlap with those of another stream are a mistake.
    if (after === undefined) throw error;
    return after;
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
