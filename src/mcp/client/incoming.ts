import type { Clock } from "../../protocol/clock.ts";
import { methodNotFound } from "../../protocol/errors.ts";
import { Host } from "../../protocol/host.ts";
import type { Log } from "../../protocol/log.ts";
import { failure, success } from "../../protocol/message.ts";
import type { InputRequest } from "../client-input.ts";
import { mcpProfile } from "../notices.ts";
import type { Input } from "./input.ts";

export interface IncomingOptions {
  readonly input: Input;
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
export function incoming({ input, notified, log, clock }: IncomingOptions): Host {
  return new Host(
    (request, context) => {
      const { id, method, params = {} } = request;
      if (id === undefined) {
        notified(method, params as Readonly<Record<string, unknown>>);
        return undefined;
      }
      if (method === "ping") return success({});
      if (!inputMethods.includes(method)) return failure(methodNotFound);
      return input.answer({ method, params } as unknown as InputRequest, context).then(success);
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
