import type { ErrorObject } from "../../protocol/message.ts";
import type { ClientCapabilities } from "../capabilities.ts";
import type { InputMethod, InputMethods, InputRequest } from "../client-input.ts";
import { missingCapability } from "../errors.ts";
import type { Task } from "../task.ts";
import type { Work } from "../work.ts";
import { checkedAnswer, type Inquirer, lackingCapability } from "./inquirer.ts";
import type { Session } from "./session.ts";

interface Question {
  readonly request: InputRequest;
  answer(value: unknown): void;
  fail(error: Error): void;
}

/** Who may ask about a task. */
export interface TaskOwner {
  readonly principal: string | undefined;
  readonly session: Session | undefined;
}

/** A tool that runs as a task, and may have questions. */
export class TaskRun implements Inquirer {
  readonly work: Work;
  readonly owner: TaskOwner;
  readonly #capabilities: ClientCapabilities;
  readonly #questions = new Map<string, Question>();
  readonly #keys = new Set<string>();

  constructor(work: Work, owner: TaskOwner, capabilities: ClientCapabilities) {
    this.work = work;
    this.owner = owner;
    this.#capabilities = capabilities;
    const { signal } = work.controller;
    signal.addEventListener("abort", () => {
      for (const question of this.#questions.values()) question.fail(signal.reason);
      this.#questions.clear();
    });
  }

  /** The question waits here until the client asks about the task. */
  ask<M extends InputMethod>(
    request: InputRequest<M>,
    named: string | undefined,
  ): Promise<InputMethods[M]["result"]> {
    const lacking = lackingCapability(request, this.#capabilities);
    if (lacking !== undefined) return Promise.reject(missingCapability(lacking));
    const { signal } = this.work.controller;
    if (signal.aborted) return Promise.reject(signal.reason);
    const key = this.#keyFor(named);
    return new Promise((resolve, reject) => {
      this.#questions.set(key, {
        request,
        answer: (value) => {
          try {
            resolve(checkedAnswer(request, value));
          } catch (error) {
            reject(error);
          }
        },
        fail: reject,
      });
      this.work.become("input_required");
    });
  }

  /** A key is never used twice, or a late answer could be taken for another, and a client would ask only once. */
  #keyFor(named = `input-${this.#keys.size + 1}`): string {
    let key = named;
    for (let number = 2; this.#keys.has(key); number++) key = `${named}-${number}`;
    this.#keys.add(key);
    return key;
  }

  /** Answers that belong to no question are ignored. */
  update(answers: Readonly<Record<string, unknown>>): void {
    for (const [key, value] of Object.entries(answers)) {
      const question = this.#questions.get(key);
      if (question === undefined) continue;
      this.#questions.delete(key);
      question.answer(value);
    }
    const { work } = this;
    if (work.status === "input_required" && this.#questions.size === 0) work.become("working");
  }

  /** The client would not answer. */
  refuse(key: string, error: Error): void {
    const question = this.#questions.get(key);
    this.#questions.delete(key);
    question?.fail(error);
    this.update({});
  }

  get inputRequests(): Readonly<Record<string, InputRequest>> {
    return Object.fromEntries(
      Array.from(this.#questions, ([key, { request }]) => [key, request] as const),
    );
  }

  /** The task with its outcome or its questions, as the extension shows it. */
  get whole(): Task & Readonly<Record<string, unknown>> {
    const { status, result, error, shown } = this.work;
    return {
      ...shown,
      ...(status === "completed" && { result }),
      ...(error !== undefined && { error: plain(error) }),
      ...(status === "input_required" && { inputRequests: this.inputRequests }),
    };
  }
}

function plain({ code, message, data }: ErrorObject): ErrorObject {
  return data === undefined ? { code, message } : { code, message, data };
}
