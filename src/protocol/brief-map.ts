/**
 * A Map whose entries come and go with every call. A plain one would keep them: V8 links each table
 * that a Map has outgrown to the next, so that once one of them is old, all that follow it survive
 * every minor collection, with all that they held when they were outgrown. Here they hold boxes,
 * which are emptied when an entry goes.
 */
export class BriefMap<Key, Value extends object> {
  readonly #boxes = new Map<Key, { value: Value | undefined }>();

  get size(): number {
    return this.#boxes.size;
  }

  get(key: Key): Value | undefined {
    return this.#boxes.get(key)?.value;
  }

  set(key: Key, value: Value): void {
    const box = this.#boxes.get(key);
    if (box === undefined) this.#boxes.set(key, { value });
    else box.value = value;
  }

  /** Removes an entry and gives what it held. */
  take(key: Key): Value | undefined {
    const box = this.#boxes.get(key);
    if (box === undefined) return undefined;
    this.#boxes.delete(key);
    const { value } = box;
    box.value = undefined;
    return value;
  }

  /** A copy, so that entries may leave while it is walked. */
  list(): [Key, Value][] {
    return Array.from(this.#boxes, ([key, { value }]) => [key, value as Value]);
  }
}
