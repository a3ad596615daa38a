import { createHash } from "node:crypto";

export interface Block {
  readonly number: bigint;
  readonly hash: string;
  readonly parentHash: string;
  /** In seconds since the epoch. */
  readonly timestamp: bigint;
}

/** A chain of empty blocks and a few balances, in memory. */
export class Chain {
  readonly id = 1337n;
  readonly #balances = new Map<string, bigint>();
  readonly #listeners = new Set<(block: Block) => void>();
  readonly #blocks: Block[] = [];

  constructor(balances: Readonly<Record<string, bigint>>) {
    for (const [address, wei] of Object.entries(balances)) {
      this.#balances.set(address.toLowerCase(), wei);
    }
    this.mine();
  }

  /** Number of listeners for new blocks. */
  get listeners(): number {
    return this.#listeners.size;
  }

  get head(): Block {
    return this.#blocks.at(-1) as Block;
  }

  mine(): Block {
    const number = BigInt(this.#blocks.length);
    const parentHash = this.#blocks.at(-1)?.hash ?? hash("nothing");
    const timestamp = BigInt(Math.floor(Date.now() / 1000));
    const block = { number, hash: hash(`${parentHash} ${number}`), parentHash, timestamp };
    this.#blocks.push(block);
    for (const listener of this.#listeners) listener(block);
    return block;
  }

  block(number: bigint): Block | undefined {
    return this.#blocks[Number(number)];
  }

  balance(address: string): bigint {
    return this.#balances.get(address.toLowerCase()) ?? 0n;
  }

  /** Calls the listener for each new block; returns a function that removes it. */
  listen(listener: (block: Block) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** A real chain uses Keccak; this example does not verify hashes. */
function hash(text: string): string {
  return `0x${createHash("sha256").update(text).digest("hex")}`;
}
