import type { Clock } from "../protocol/clock.ts";
import { RemoteError, RpcError } from "../protocol/errors.ts";
import type { Log } from "../protocol/log.ts";
import type { MaybePromise } from "../protocol/message.ts";
import {
  type AgentUpdate,
  agentMessage,
  type Content,
  directAnswer,
  eventOf,
  statusEvent,
} from "./agent-update.ts";
import {
  isInterrupted,
  isTerminal,
  type Message,
  type SendResult,
  type StreamResponse,
  type Task,
} from "./model.ts";
import { changed } from "./task-change.ts";
import type { TaskRecord } from "./task-store.ts";

/** What a run needs of its agent. */
export interface RunHost {
  readonly clock: Clock;
  readonly log: Log;
  /** Writes a record; false if another process was first. */
  save(record: TaskRecord): MaybePromise<boolean>;
  load(id: string): MaybePromise<TaskRecord | undefined>;
  /** An event that subscribers and webhooks get, once it is stored. */
  publish(event: StreamResponse, record: TaskRecord): void;
  /** The message has become a task. */
  began(run: TaskRun): void;
  ended(run: TaskRun): void;
}

/** Makes the next record of a task, and the event that reports it, if clients see the change. */
export type Amendment = (record: TaskRecord) => {
  readonly record: TaskRecord;
  readonly event?: StreamResponse;
};

type Answer = AsyncIterable<AgentUpdate, Content | undefined | void> | MaybePromise<Content>;

/** The work on one message, from the first step of the agent until the task is done or waits for input. */
export class TaskRun {
  #controller: AbortController | undefined;
  /** Resolves to the answer: a message, or the task when it is done or waits for input. */
  readonly outcome: Promise<SendResult>;
  /** Undefined until there is a task. */
  record: TaskRecord | undefined = undefined;
  /** The message was answered, or the task is done or waits for input. */
  isOver = false;
  readonly #host: RunHost;
  /** The record that the task begins with, or goes on with. */
  readonly first: TaskRecord;
  #answer: (result: SendResult) => void = () => {};
  #refuse: (error: unknown) => void = () => {};
  /** Changes wait for the one before: cancelling must not overtake a step of the agent. */
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(host: RunHost, first: TaskRecord) {
    this.#host = host;
    this.first = first;
    this.outcome = new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.#refuse = reject;
    });
    // Nothing waits for it if the client only streams.
    this.outcome.catch(() => {});
  }

  /** Made when it is first needed: most agents do not look at it. */
  get controller(): AbortController {
    this.#controller ??= new AbortController();
    return this.#controller;
  }

  get id(): string {
    return this.first.task.id;
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
      // Cancelled before there was a task.
      if (!this.isOver) {
        this.#refuse(new Error("the agent ended without an answer"));
        this.#end();
      }
    }
  }

  /** Makes the message a task, for clients that want one at once. */
  begin(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.record !== undefined || this.isOver) return;
      const first = this.first;
      if (!(await this.#host.save(first)))
        throw new Error("the task was changed by another process");
      this.record = first;
      this.#host.began(this);
      this.#host.publish({ task: first.task }, first);
    });
  }

  /** Ends the task; resolves to it as it is then. */
  async cancel(): Promise<Task> {
    await this.#change((task) => statusEvent(task, "TASK_STATE_CANCELED", this.#host.clock.now()));
    this.controller.abort();
    return (this.record as TaskRecord).task;
  }

  /** A plain function has answered; that ends the task, if there is one. */
  async #answerWhole(content: Content): Promise<void> {
    if (this.#mayReply()) this.#reply(agentMessage(content, this.#contextOnly()));
    else await this.#complete(content);
  }

  /** Whether the message can be answered without a task. */
  #mayReply(): boolean {
    return this.record === undefined && this.first.version === 1;
  }

  async #follow(updates: AsyncIterable<AgentUpdate, Content | undefined | void>): Promise<void> {
    const iterator = updates[Symbol.asyncIterator]();
    for (;;) {
      const next = await iterator.next();
      if (this.isOver) break;
      if (next.done === true) {
        await this.#complete(next.value as Content | undefined);
        return;
      }
      const direct = this.#mayReply() ? directAnswer(next.value) : undefined;
      if (direct !== undefined) {
        this.#reply(agentMessage(direct.content, this.#contextOnly(), direct.metadata));
        break;
      }
      await this.begin();
      await this.#showWorking(next.value);
      await this.#change((task) => eventOf(next.value, task, this.#host.clock.now()));
      if (this.#isOver()) break;
    }
    await iterator.return?.();
  }

  /** A task that produces something is working, although its agent does not say so. */
  async #showWorking(update: AgentUpdate): Promise<void> {
    const isState = typeof update === "object" && "state" in update;
    if (isState || this.record?.task.status.state !== "TASK_STATE_SUBMITTED") return;
    await this.#change((task) => statusEvent(task, "TASK_STATE_WORKING", this.#host.clock.now()));
  }

  async #complete(content: Content | undefined): Promise<void> {
    await this.begin();
    await this.#change((task) => {
      const message = content === undefined ? undefined : agentMessage(content, task);
      return statusEvent(task, "TASK_STATE_COMPLETED", this.#host.clock.now(), message);
    });
  }

  async #fail(error: unknown): Promise<void> {
    const { log, clock } = this.#host;
    // Errors that a cancelled agent throws are not failures.
    if (this.isOver || this.#controller?.signal.aborted === true) return;
    const isOwn = error instanceof RpcError && !(error instanceof RemoteError);
    if (!isOwn) log.error({ err: error, task: this.id }, "an agent failed");
    if (this.record === undefined && isOwn) {
      this.isOver = true;
      this.#refuse(error);
      this.#host.ended(this);
      return;
    }
    try {
      await this.begin();
      await this.#change((task) => {
        const message = agentMessage(isOwn ? error.message : "The agent failed", task);
        return statusEvent(task, "TASK_STATE_FAILED", clock.now(), message);
      });
    } catch (failure) {
      log.error({ err: failure, task: this.id }, "could not store that a task failed");
      this.#refuse(failure);
    }
  }

  /** A direct answer belongs to no task. */
  #contextOnly(): { readonly contextId: string } {
    return { contextId: this.first.task.contextId };
  }

  #reply(message: Message): void {
    if (this.isOver) return;
    this.#answer({ message });
    this.#host.publish({ message }, this.first);
    this.#end();
  }

  /** Applies an event to the task, and stores and publishes it; ignored if the task is over. */
  async #change(make: (task: Task) => StreamResponse): Promise<void> {
    await this.amend((record) => {
      const event = make(record.task);
      return { record: recordAfter(record, event, this.#host.clock.now()), event };
    });
  }

  /** Changes the record, after the changes before; undefined if the task is over. */
  async amend(make: Amendment): Promise<TaskRecord | undefined> {
    let result: TaskRecord | undefined;
    await this.#inTurn(async () => {
      if (this.record === undefined || this.isOver) return;
      let before = this.record;
      for (;;) {
        const { record, event } = make(before);
        if (await this.#host.save(record)) {
          this.record = record;
          if (event !== undefined) this.#host.publish(event, record);
          break;
        }
        const stored = await this.#host.load(this.id);
        if (stored === undefined || isTerminal(stored.task.status.state)) {
          // Another process has ended it.
          this.record = stored ?? before;
          this.controller.abort();
          this.#finish();
          return;
        }
        before = stored;
      }
      result = this.record;
      const { state } = this.record.task.status;
      if (isTerminal(state) || isInterrupted(state)) this.#finish();
    });
    return result;
  }

  #inTurn(run: () => Promise<void>): Promise<void> {
    const turn = this.#lastChange.then(run);
    this.#lastChange = turn.catch(() => {});
    return turn;
  }

  #finish(): void {
    this.#answer({ task: (this.record as TaskRecord).task });
    this.#end();
  }

  #end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#host.ended(this);
  }

  /** A method, because TypeScript assumes that `isOver` has not changed during an `await`. */
  #isOver(): boolean {
    return this.isOver;
  }
}

/** The record after an event. */
export function recordAfter(before: TaskRecord, event: StreamResponse, now: number): TaskRecord {
  const isStatus = "statusUpdate" in event;
  return {
    ...before,
    task: changed(before.task, event),
    version: before.version + 1,
    changedAt: isStatus ? now : before.changedAt,
    characters: before.characters + JSON.stringify(event).length,
  };
}
