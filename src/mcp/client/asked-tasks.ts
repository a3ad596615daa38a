import { type Clock, systemClock } from "../../protocol/clock.ts";
import type { Log } from "../../protocol/log.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import type { InputRequest } from "../client-input.ts";
import { invalidArguments } from "../errors.ts";
import { isRecord } from "../record.ts";
import { carryOut, Work } from "../work.ts";
import { WorkTable } from "../work-table.ts";
import type { Input } from "./input.ts";

/** A server that asks for ever, and never takes an answer, must not fill memory. */
const mostTasks = 100;

type Params = Readonly<Record<string, unknown>>;

/** What a server of 2025-11-25 asks as a task: it is told at once that somebody works on it, and comes for the answer. */
export class AskedTasks {
  readonly #input: Input;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #table: WorkTable<{ readonly work: Work }>;

  constructor(input: Input, log: Log, clock: Clock = systemClock) {
    this.#input = input;
    this.#log = log;
    this.#clock = clock;
    this.#table = new WorkTable(clock, { maxTasks: mostTasks });
  }

  /** Whether the answer to a question is wanted as a task, and can be had as one. */
  wants({ method, params }: InputRequest): boolean {
    return isRecord((params as Params).task) && this.#input.takesTasks(method);
  }

  start({ method, params }: InputRequest): object {
    const { task, ...asked } = params as Params & { readonly task: { readonly ttl?: unknown } };
    const request = { method, params: asked } as unknown as InputRequest;
    const make = (ttlMs: number) => ({ work: new Work(ttlMs, () => this.#clock.now()) });
    const { work } = this.#table.begin(task.ttl, make, ({ work }) => {
      const { signal } = work.controller;
      return carryOut(work, () => this.#input.answer(request, { signal }), this.#log);
    });
    return { task: work.shownLegacy };
  }

  /** Answers `tasks/*`; undefined for what is none of these. */
  answer(method: string, params: Params, signal: AbortSignal): MaybePromise<object> | undefined {
    switch (method) {
      case "tasks/get":
        return this.#find(params).shownLegacy;
      case "tasks/result":
        return this.#find(params).outcome(signal);
      case "tasks/cancel": {
        const work = this.#find(params);
        if (!work.cancel()) throw invalidArguments(`the task is ${work.status} already`);
        return work.shownLegacy;
      }
      case "tasks/list":
        // There are so few that one page holds them.
        if (params.cursor !== undefined)
          throw invalidArguments("this cursor was not given out here");
        return { tasks: this.#table.list().map(({ work }) => work.shownLegacy) };
    }
    return undefined;
  }

  /** Nobody will come for the answers any more. */
  end(): void {
    this.#table.end();
  }

  #find({ taskId }: Params): Work {
    const found = this.#table.find(taskId);
    if (found === undefined) throw invalidArguments("there is no such task");
    return found.work;
  }
}
