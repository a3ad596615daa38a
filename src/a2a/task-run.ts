import type { Clock } from "../protocol/clock.ts";
import { RemoteError, RpcError } from "../protocol/errors.ts";
import type { Log } from "../protocol/log.ts";
import { isThenable, type MaybePromise } from "../protocol/message.ts";
import type { LiveWork } from "../work/live-work.ts";
import {
  type AgentUpdate,
  agentMessage,
  type Content,
  directAnswer,
  eventOf,
  statusEvent,
} from "./agent-update.ts";
import type { AgentUpdates } from "./executor.ts";
import type { Message, SendResult, StreamResponse, Task } from "./model.ts";
import { changed } from "./task-change.ts";
import { changeBy, type TaskBody, type TaskRecord } from "./task-record.ts";

/** What a run needs of its agent. */
export interface RunHost {
  readonly clock: Clock;
  readonly log: Log;
  /** Sends an answer that is not a task to the webhook of its message. */
  replied(message: Message, first: TaskRecord): void;
}

type Answer = AgentUpdates | MaybePromise<Content>;

/** The work on one message, from the first step of the agent until the task is done or waits for input. */
export class TaskRun {
  /** Resolves to the answer: a message, or the task when it is done or waits for input. */
  readonly outcome: Promise<SendResult>;
  readonly work: LiveWork<TaskBody, StreamResponse>;
  readonly #host: RunHost;
  #answer: (result: SendResult) => void = () => {};
  #refuse: (error: unknown) => void = () => {};

  constructor(host: RunHost, work: LiveWork<TaskBody, StreamResponse>) {
    this.#host = host;
    this.work = work;
    this.outcome = new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.#refuse = reject;
    });
    work.observer = this;
  }

  get id(): string {
    return this.work.id;
  }

  /** The task as it is now; undefined until there is one. */
  get task(): Task | undefined {
    return this.work.record?.body.task;
  }

  /** Runs the agent until it is done. */
  async drive(execute: () => Answer): Promise<void> {
    try {
      const answer = execute();
      const isStream =
        typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer;
      if (isStream) await this.#follow(answer);
      else await this.#answerWhole(await answer);
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.work.release();
    }
  }

  /** Makes the message a task, for clients that want one at once. */
  begin(): MaybePromise<unknown> {
    return this.work.begin(this.#opening);
  }

  /** The work is over, or waits for its caller. */
  ended(): void {
    const { task } = this;
    if (task !== undefined) this.#answer({ task });
    else this.#refuse(new Error("the agent ended without an answer"));
  }

  /** A plain function has answered; that ends the task, if there is one. */
  #answerWhole(content: Content): MaybePromise<unknown> {
    if (!this.#mayReply()) return this.#complete(content);
    this.#reply(agentMessage(content, this.#contextOnly()));
    return undefined;
  }

  /** Whether the message can be answered without a task. */
  #mayReply(): boolean {
    return this.work.record === undefined && this.work.first.version === 1;
  }

  async #follow(updates: AgentUpdates): Promise<void> {
    const iterator = updates[Symbol.asyncIterator]();
    for (;;) {
      const next = await iterator.next();
      if (this.work.isOver) break;
      if (next.done === true) {
        const ending = this.#complete(next.value as Content | undefined);
        if (isThenable(ending)) await ending;
        return;
      }
      const direct = this.#mayReply() ? directAnswer(next.value) : undefined;
      if (direct !== undefined) {
        this.#reply(agentMessage(direct.content, this.#contextOnly(), direct.metadata));
        break;
      }
      const step = this.#change((task, now) => stepsOf(next.value, task, now));
      if (isThenable(step)) await step;
      if (this.#isOver()) break;
    }
    await iterator.return?.();
  }

  #complete(content: Content | undefined): MaybePromise<unknown> {
    return this.#change((task, now) => {
      const message = content === undefined ? undefined : agentMessage(content, task);
      return [statusEvent(task, "TASK_STATE_COMPLETED", now, message)];
    });
  }

  async #fail(error: unknown): Promise<void> {
    const { log } = this.#host;
    // Errors that a cancelled agent throws are not failures.
    if (this.work.isOver || this.work.isAborted) return;
    const isOwn = error instanceof RpcError && !(error instanceof RemoteError);
    if (!isOwn) log.error({ err: error, task: this.id }, "an agent failed");
    if (this.work.record === undefined && isOwn) {
      this.#refuse(error);
      return;
    }
    try {
      await this.#change((task, now) => {
        const message = agentMessage(isOwn ? error.message : "The agent failed", task);
        return [statusEvent(task, "TASK_STATE_FAILED", now, message)];
      });
    } catch (failure) {
      log.error({ err: failure, task: this.id }, "could not store that a task failed");
      this.#refuse(failure);
    }
  }

  /** A direct answer belongs to no task. */
  #contextOnly(): { readonly contextId: string } {
    return { contextId: this.work.first.body.task.contextId };
  }

  #reply(message: Message): void {
    if (this.work.isOver) return;
    this.#answer({ message });
    this.#host.replied(message, this.work.first);
    this.work.end();
  }

  /**
   * Applies events to the task, and stores and publishes them; ignored if the task is over. The first ones are stored
   * together with the task.
   */
  #change(make: (task: Task, now: number) => readonly StreamResponse[]): MaybePromise<unknown> {
    return this.work.begin(this.#opening, (record) => {
      const now = this.#host.clock.now();
      return changeBy(record, make(record.body.task, now), now);
    });
  }

  /** The event that begins a stream. */
  get #opening(): StreamResponse {
    return { task: this.work.first.body.task };
  }

  /** A method, because TypeScript assumes that `isOver` has not changed during an `await`. */
  #isOver(): boolean {
    return this.work.isOver;
  }
}

/** What an update does to a task. One that produces something is working, although its agent does not say so. */
function stepsOf(update: AgentUpdate, task: Task, now: number): readonly StreamResponse[] {
  const isState = typeof update === "object" && "state" in update;
  if (isState || task.status.state !== "TASK_STATE_SUBMITTED") return [eventOf(update, task, now)];
  const working = statusEvent(task, "TASK_STATE_WORKING", now);
  return [working, eventOf(update, changed(task, working), now)];
}
