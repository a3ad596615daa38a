/**
 * A Map for entries that live as long as a call. In a plain Map V8 links each outgrown table to the next, so that
 * once one table is old, all later ones survive minor collections with everything that they held. Here they hold
 * boxes that are emptied when an entry is removed.
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

  /** Removes an entry and returns its value. */
  take(key: Key): Value | undefined {
    const box = this.#boxes.get(key);
    if (box === undefined) return undefined;
    this.#boxes.delete(key);
    const { value } = box;
    box.value = undefined;
    return value;
  }

  /** A copy, so that entries may be removed during iteration. */
  list(): [Key, Value][] {
    return Array.from(this.#boxes, ([key, { value }]) => [key, value as Value]);
  }
}
