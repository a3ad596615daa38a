import type { Clock } from "../../protocol/clock.ts";
import { methodNotFound } from "../../protocol/errors.ts";
import { Host } from "../../protocol/host.ts";
import type { Log } from "../../protocol/log.ts";
import { failure, isThenable, success } from "../../protocol/message.ts";
import type { InputRequest } from "../client-input.ts";
import { mcpProfile } from "../notices.ts";
import type { AskedTasks } from "./asked-tasks.ts";
import type { Input } from "./input.ts";

export interface IncomingOptions {
  readonly input: Input;
  readonly tasks: AskedTasks;
  readonly notified: (method: string, params: Readonly<Record<string, unknown>>) => void;
  readonly log: Log;
  readonly clock: Clock | undefined;
}

const inputMethods: readonly string[] = [
  "elicitation/create",
  "sampling/createMessage",
  "roots/list",
];

/** Answers what a server of the legacy era asks, and hands on what servers tell. */
export function incoming({ input, tasks, notified, log, clock }: IncomingOptions): Host {
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
      // One revision has batches, and people take their time.
      profile: mcpProfile(() => true),
      timeoutMs: Number.POSITIVE_INFINITY,
      log,
      ...(clock !== undefined && { clock }),
    },
  );
}
