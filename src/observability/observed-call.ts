import type { CallContext, Context } from "../protocol/context.ts";
import { isThenable, type MaybePromise, type Reply } from "../protocol/message.ts";

/** What went wrong before an answer came. */
export interface Thrown {
  readonly code: string | number;
  readonly message: string;
}

/** Runs a call and tells how it ended; what the listener throws changes nothing. */
export function settled(
  run: () => MaybePromise<Reply | undefined>,
  tell: (durationMs: number, reply: Reply | undefined, thrown: Thrown | undefined) => void,
): MaybePromise<Reply | undefined> {
  const since = performance.now();
  const end = (reply: Reply | undefined, thrown: Thrown | undefined): void => {
    try {
      tell(performance.now() - since, reply, thrown);
    } catch {
      // A log or a meter that fails must not fail the call, and has nowhere to say so.
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
 * What a middleware sees of a call: that it is made here; that it is answered, and told of by whoever answers;
 * or that it is answered and nobody else tells, as where a tool of MCP runs a method.
 */
export type Side = "made" | "told" | "answered";

/** By its shape: a program may hold two copies of this package. */
export function sideOf(context: Context): Side {
  if (context.transport.kind === "outbound") return "made";
  return (context as Partial<CallContext>).watch === undefined ? "answered" : "told";
}

const begun = new WeakMap<Context, string>();

/** Tracing says which trace a call belongs to, so that its line in the log can name it. */
export function rememberTrace(context: Context, traceId: string): void {
  begun.set(context, traceId);
}

export function rememberedTrace(context: Context | undefined): string | undefined {
  return context === undefined ? undefined : begun.get(context);
}
