import { type Clock, systemClock } from "../../protocol/clock.ts";
import { methodNotFound } from "../../protocol/errors.ts";
import { Host } from "../../protocol/host.ts";
import type { Log } from "../../protocol/log.ts";
import { failure, isThenable, type MaybePromise, success } from "../../protocol/message.ts";
import type { InputRequest } from "../client-input.ts";
import { invalidArguments } from "../errors.ts";
import { mcpProfile } from "../notices.ts";
import { isRecord } from "../record.ts";
import { TaskTable } from "../task-table.ts";
import { runTask, TaskWork } from "../task-work.ts";
import type { Input } from "./input.ts";

export interface ServerRequestOptions {
  readonly input: Input;
  readonly tasks: InputTasks;
  readonly notified: (method: string, params: Readonly<Record<string, unknown>>) => void;
  readonly log: Log;
  readonly clock: Clock | undefined;
}

const inputMethods: readonly string[] = [
  "elicitation/create",
  "sampling/createMessage",
  "roots/list",
];

/** Answers requests of legacy servers, and passes on notifications of all servers. */
export function serverRequestHost({
  input,
  tasks,
  notified,
  log,
  clock,
}: ServerRequestOptions): Host {
  return new Host(
    (request, context) => {
      const { id, method } = request;
      const params = (request.params ?? {}) as Readonly<Record<string, unknown>>;
      if (id === undefined) {
        notified(method, params);
        return undefined;
      }
      if (method === "ping") return success({});
      if (inputMethods.includes(method)) {
        const asked = { method, params } as unknown as InputRequest;
        if (tasks.wants(asked)) return success(tasks.start(asked));
        return input.answer(asked, context).then(success);
      }
      const about = tasks.answer(method, params, context.signal);
      if (about === undefined) return failure(methodNotFound);
      return isThenable(about) ? about.then(success) : success(about);
    },
    {
      // 2025-03-26 has batches, and people need time to answer.
      profile: mcpProfile(() => true),
      timeoutMs: Number.POSITIVE_INFINITY,
      log,
      ...(clock !== undefined && { clock }),
    },
  );
}

/** Most tasks kept for one server; stops memory exhaustion. */
const mostTasks = 100;

type Params = Readonly<Record<string, unknown>>;

/** Requests that a server of 2025-11-25 sends as tasks: it gets a task at once and fetches the answer later. */
export class InputTasks {
  readonly #input: Input;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #table: TaskTable<{ readonly work: TaskWork }>;

  constructor(input: Input, log: Log, clock: Clock = systemClock) {
    this.#input = input;
    this.#log = log;
    this.#clock = clock;
    this.#table = new TaskTable(clock, { maxTasks: mostTasks });
  }

  /** Whether the server asks for a task, and this kind of request can run as one. */
  wants({ method, params }: InputRequest): boolean {
    return isRecord((params as Params).task) && this.#input.takesTasks(method);
  }

  start({ method, params }: InputRequest): object {
    const { task, ...asked } = params as Params & { readonly task: { readonly ttl?: unknown } };
    const request = { method, params: asked } as unknown as InputRequest;
    const make = (ttlMs: number) => ({ work: new TaskWork(ttlMs, () => this.#clock.now()) });
    const { work } = this.#table.begin(task.ttl, make, ({ work }) => {
      const { signal } = work.controller;
      return runTask(work, () => this.#input.answer(request, { signal }), this.#log);
    });
    return { task: work.asLegacyTask };
  }

  /** Answers `tasks/*`; undefined for other methods. */
  answer(method: string, params: Params, signal: AbortSignal): MaybePromise<object> | undefined {
    switch (method) {
      case "tasks/get":
        return this.#find(params).asLegacyTask;
      case "tasks/result":
        return this.#find(params).outcome(signal);
      case "tasks/cancel": {
        const work = this.#find(params);
        if (!work.cancel()) throw invalidArguments(`the task is already ${work.status}`);
        return work.asLegacyTask;
      }
      case "tasks/list":
        // One page holds them all, so that no cursor is ever issued.
        if (params.cursor !== undefined) throw invalidArguments('"cursor" is not known');
        return { tasks: this.#table.list().map(({ work }) => work.asLegacyTask) };
    }
    return undefined;
  }

  /** Cancels all tasks. */
  end(): void {
    this.#table.end();
  }

  #find({ taskId }: Params): TaskWork {
    const found = this.#table.find(taskId);
    if (found === undefined) throw invalidArguments("there is no such task");
    return found.work;
  }
}
