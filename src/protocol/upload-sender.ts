import type { ItemMembers, OutgoingUpload, UploadSink } from "./link.ts";

/** What the owner of an upload gives its sender. */
export interface UploadOwner {
  /** The JSON form of an item; a promise if bytes have to be read for it, until the signal says that the call is over. */
  members(item: unknown, signal: AbortSignal): ItemMembers | Promise<ItemMembers>;
  /** The source or an item of it is at fault, so that the call has to end. */
  fail(thrown: unknown): void;
  /** Called with true while the source is awaited, and with false when the peer is. */
  waitsForSource?(waits: boolean): void;
}

/** Sends the items of a source as fast as the peer asks for them and the wire accepts them. */
export class UploadSender implements OutgoingUpload {
  begun = false;
  readonly #source: AsyncIterable<unknown> | Iterable<unknown>;
  readonly #owner: UploadOwner;
  #iterator: AsyncIterator<unknown> | Iterator<unknown> | undefined;
  #credit = 0;
  #sink: UploadSink | undefined;
  #isSending = false;
  #isOver = false;
  readonly #over = new AbortController();

  constructor(source: AsyncIterable<unknown> | Iterable<unknown>, owner: UploadOwner) {
    this.#source = source;
    this.#owner = owner;
  }

  grant(count: number, sink: UploadSink): void {
    this.begun = true;
    this.#credit += count;
    this.#sink = sink;
    if (!this.#isSending && !this.#isOver) void this.#send();
  }

  /** The call is over. A generator sees `return` when its next item comes, other iterators at once. */
  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#over.abort();
    void this.#leave();
  }

  async #leave(): Promise<void> {
    try {
      // A source that was never read may have to be released too.
      this.#iterator ??= iteratorOf(this.#source);
      await this.#iterator.return?.();
    } catch {
      // The call has its outcome, which this must not change.
    }
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    try {
      this.#iterator ??= iteratorOf(this.#source);
      while (this.#credit > 0 && !this.#isOver) {
        const full = this.#sink?.ready();
        if (full !== undefined) {
          this.#owner.waitsForSource?.(false);
          await full;
          continue;
        }
        this.#owner.waitsForSource?.(true);
        const next = await this.#iterator.next();
        if (this.#isOver) return;
        if (next.done === true) {
          this.#isOver = true;
          this.#sink?.done();
          return;
        }
        const members = this.#owner.members(next.value, this.#over.signal);
        const item = members instanceof Promise ? await members : members;
        if (this.#isOver) return;
        this.#credit--;
        this.#sink?.item(item);
      }
    } catch (thrown) {
      // A source may throw because it was left.
      if (this.#isOver) return;
      this.stop();
      this.#owner.fail(thrown);
    } finally {
      this.#isSending = false;
      this.#owner.waitsForSource?.(false);
    }
  }
}

function iteratorOf(
  source: AsyncIterable<unknown> | Iterable<unknown>,
): AsyncIterator<unknown> | Iterator<unknown> {
  return Symbol.asyncIterator in source
    ? source[Symbol.asyncIterator]()
    : source[Symbol.iterator]();
}
