import type { CallContext, Context } from "../protocol/context.ts";
import { isThenable, type MaybePromise, type Reply } from "../protocol/message.ts";

/** Why a call failed without an answer. */
export interface Thrown {
  readonly code: string | number;
  readonly message: string;
}

/** Runs a call and reports how it ended; exceptions of `report` are ignored. */
export function settled(
  run: () => MaybePromise<Reply | undefined>,
  report: (durationMs: number, reply: Reply | undefined, thrown: Thrown | undefined) => void,
): MaybePromise<Reply | undefined> {
  const since = performance.now();
  const end = (reply: Reply | undefined, thrown: Thrown | undefined): void => {
    try {
      report(performance.now() - since, reply, thrown);
    } catch {
      // A failing log or meter must not fail the call, and there is nowhere to report it.
    }
  };
  const failed = (error: unknown): never => {
    end(undefined, thrownOf(error));
    throw error;
  };
  let reply: MaybePromise<Reply | undefined>;
  try {
    reply = run();
  } catch (error) {
    return failed(error);
  }
  if (isThenable(reply)) {
    return reply.then((landed) => {
      end(landed, undefined);
      return landed;
    }, failed);
  }
  end(reply, undefined);
  return reply;
}

function thrownOf(error: unknown): Thrown {
  const { code, name, message } = (error ?? {}) as Partial<Record<string, unknown>>;
  return {
    code: typeof code === "string" || typeof code === "number" ? code : String(name ?? "Error"),
    message: String(message ?? error),
  };
}

/**
 * How a middleware sees a call: it is made here; it is answered here and reported by a watch; or it is
 * answered without a watch, as when an MCP tool runs a method.
 */
export type Side = "outgoing" | "watched" | "answered";

/** Checks the shape, since a program may load two copies of this package. */
export function sideOf(context: Context): Side {
  if (context.transport.kind === "outbound") return "outgoing";
  return (context as Partial<CallContext>).watch === undefined ? "answered" : "watched";
}

const begun = new WeakMap<Context, string>();

/** Remembers the trace of a call for its log line. */
export function rememberTrace(context: Context, traceId: string): void {
  begun.set(context, traceId);
}

export function rememberedTrace(context: Context | undefined): string | undefined {
  return context === undefined ? undefined : begun.get(context);
}
