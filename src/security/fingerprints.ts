/** A 128-bit hash of two strings. A caller that finds a collision only has its own nonce refused. */
export class Fingerprint {
  a = 0;
  b = 0;
  c = 0;
  d = 0;
  readonly #seed = crypto.getRandomValues(new Uint32Array(4));

  /** Overwrites this fingerprint with that of the two strings, to avoid an object per call. */
  of(owner: string, value: string): void {
    const [a = 0, b = 0, c = 0, d = 0] = this.#seed;
    // The length makes "ab" and "c" differ from "a" and "bc".
    this.a = a ^ owner.length;
    this.b = b;
    this.c = c;
    this.d = d;
    this.#add(owner);
    this.#add(value);
    this.a = mixed(this.a ^ this.d);
    this.b = mixed(this.b ^ this.a);
    this.c = mixed(this.c ^ this.b);
    // Zero marks a free slot.
    this.d = mixed(this.d ^ this.c) || 1;
  }

  #add(text: string): void {
    let { a, b, c, d } = this;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      a = b ^ Math.imul(a ^ unit, 597399067);
      b = c ^ Math.imul(b ^ unit, 2869860233);
      c = d ^ Math.imul(c ^ unit, 951274213);
      d = a ^ Math.imul(d ^ unit, 2716044179);
    }
    this.a = a;
    this.b = b;
    this.c = c;
    this.d = d;
  }
}

function mixed(h: number): number {
  let hash = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) | 0;
}

const firstSlots = 64;

/**
 * A hash set in one typed array. A Map of a million strings takes three times the memory and slows
 * down the garbage collector.
 */
class Shard {
  size = 0;
  #slots = new Int32Array(firstSlots * 4);
  #mask = firstSlots - 1;

  has({ a, b, c, d }: Fingerprint): boolean {
    return this.#slots[this.#find(a, b, c, d) + 3] !== 0;
  }

  add({ a, b, c, d }: Fingerprint): void {
    if (this.size * 3 >= this.#mask * 2) this.#grow();
    this.#put(a, b, c, d);
    this.size++;
  }

  /** The slot of the fingerprint, or the free slot where it belongs. */
  #find(a: number, b: number, c: number, d: number): number {
    const slots = this.#slots;
    for (let slot = a & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const at = slot * 4;
      if (slots[at + 3] === 0) return at;
      if (slots[at + 3] === d && slots[at] === a && slots[at + 1] === b && slots[at + 2] === c)
        return at;
    }
  }

  #put(a: number, b: number, c: number, d: number): void {
    const at = this.#find(a, b, c, d);
    const slots = this.#slots;
    slots[at] = a;
    slots[at + 1] = b;
    slots[at + 2] = c;
    slots[at + 3] = d;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Int32Array(old.length * 2);
    this.#mask = this.#slots.length / 4 - 1;
    for (let at = 0; at < old.length; at += 4) {
      const d = old[at + 3] as number;
      if (d !== 0) this.#put(old[at] as number, old[at + 1] as number, old[at + 2] as number, d);
    }
  }
}

const shardBits = 5;

/** A set of fingerprints in shards, which grow separately so that no single call copies all of it. */
export class FingerprintSet {
  readonly #shards = Array.from({ length: 1 << shardBits }, () => new Shard());
  size = 0;

  has(print: Fingerprint): boolean {
    return this.#shardOf(print).has(print);
  }

  add(print: Fingerprint): void {
    this.#shardOf(print).add(print);
    this.size++;
  }

  #shardOf(print: Fingerprint): Shard {
    return this.#shards[print.b >>> (32 - shardBits)] as Shard;
  }
}
