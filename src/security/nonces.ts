import type { MaybePromise } from "../protocol/message.ts";

/** A nonce that came with a valid signature. */
export interface Nonce {
  /** Whose it is: the id of a key or of a principal. Two owners may use the same one. */
  readonly owner: string;
  readonly value: string;
  /** When the message says that it was made, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** From when on its time stamp refuses the message by itself. */
  readonly expiresAt: number;
}

/** What a store says of a nonce. */
export type NonceVerdict =
  /** Never seen; it is now. */
  | "new"
  | "seen"
  /** There is no room. It is refused, since forgetting another would let that one in again. */
  | "full"
  /** Made before this store was, so that it may have been seen by the one before. */
  | "too-old";

/** Remembers nonces until they expire. */
export interface NonceStore {
  take(nonce: Nonce): MaybePromise<NonceVerdict>;
}

/** Longest nonce; a store must not be filled with long ones. */
export const maxNonceLength = 128;
