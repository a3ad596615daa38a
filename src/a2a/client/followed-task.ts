import type { StreamResponse, Task } from "../model.ts";
import { changed, changesBetween } from "../task-change.ts";

/** Most events that a task is followed through, because each copies the lists of the task. */
const maxEvents = 5_000;

/** The task of a stream after the events so far, so that a stream that is resumed repeats nothing. */
export class FollowedTask {
  /** Undefined until there is one; only its id and status if it has become too long. */
  task: Task | undefined = undefined;
  readonly #maxLength: number;
  #events = 0;
  #length = 0;

  /** An agent sends the whole task to resume a stream, so it need not be longer than the longest event. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  get #isTooLong(): boolean {
    return this.#events > maxEvents || this.#length > this.#maxLength;
  }

  /** What is new in an event: a stream that is resumed begins with the task as it is now. */
  newIn(event: StreamResponse): readonly StreamResponse[] {
    if (this.task === undefined || this.#isTooLong || !("task" in event)) return [event];
    return changesBetween(this.task, event.task);
  }

  /** `length` is that of the event that the change came with. */
  apply(change: StreamResponse, length: number): void {
    if ("task" in change) {
      this.task = change.task;
      this.#events = 0;
      this.#length = length;
      return;
    }
    if (this.task === undefined) return;
    this.#events++;
    this.#length += length;
    if (!this.#isTooLong) this.task = changed(this.task, change);
    else {
      const { id, contextId, status } = this.task;
      const now = "statusUpdate" in change ? change.statusUpdate.status : status;
      this.task = { id, contextId, status: now };
    }
  }
}
