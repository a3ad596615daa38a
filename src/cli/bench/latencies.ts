/** Buckets per doubling, for a precision of 1/64. */
const perDoubling = 64;
/** 2 ** 31 µs are 35 minutes. */
const doublings = 32;

export interface LatencyRow {
  readonly fromMs: number;
  readonly toMs: number;
  readonly count: number;
}

/** Counts latencies in exponential buckets, so that millions need little memory. */
export class Latencies {
  readonly #buckets = new Float64Array(perDoubling * doublings);
  count = 0;
  sumMs = 0;
  minMs = Number.POSITIVE_INFINITY;
  maxMs = 0;

  add(ms: number): void {
    this.#buckets[bucketOf(ms)]! += 1;
    this.count++;
    this.sumMs += ms;
    if (ms < this.minMs) this.minMs = ms;
    if (ms > this.maxMs) this.maxMs = ms;
  }

  get meanMs(): number {
    return this.count === 0 ? 0 : this.sumMs / this.count;
  }

  percentile(percent: number): number {
    const wanted = Math.ceil((percent / 100) * this.count);
    let seen = 0;
    for (let i = 0; i < this.#buckets.length; i++) {
      seen += this.#buckets[i] ?? 0;
      if (seen >= wanted && seen > 0) return Math.min(this.maxMs, upperMs(i));
    }
    return this.maxMs;
  }

  /** A histogram of at most `most` rows, each wider than the previous by the same factor. */
  rows(most: number): LatencyRow[] {
    if (this.count === 0) return [];
    const first = bucketOf(this.minMs);
    const last = bucketOf(this.maxMs);
    const size = Math.max(1, Math.ceil((last - first + 1) / most));
    const rows: LatencyRow[] = [];
    for (let at = first; at <= last; at += size) {
      let count = 0;
      for (let i = at; i < at + size; i++) count += this.#buckets[i] ?? 0;
      const fromMs = at === first ? this.minMs : upperMs(at - 1);
      rows.push({ fromMs, toMs: Math.min(this.maxMs, upperMs(at + size - 1)), count });
    }
    return rows;
  }
}

function bucketOf(ms: number): number {
  const bucket = Math.floor(Math.log2(Math.max(1, ms * 1000)) * perDoubling);
  return Math.min(bucket, perDoubling * doublings - 1);
}

function upperMs(bucket: number): number {
  return 2 ** ((bucket + 1) / perDoubling) / 1000;
}
