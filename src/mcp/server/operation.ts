import type { CallContext } from "../../protocol/context.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import type { Caller } from "./caller.ts";

/** The params of a request; MCP has them by name only. */
export type OperationParams = Readonly<Record<string, unknown>>;

/** Answers one method of MCP with its result; throws what the request fails with. */
export type Operation = (
  params: OperationParams,
  context: CallContext,
  caller: Caller,
) => MaybePromise<object>;

export type Operations = ReadonlyMap<string, Operation>;
