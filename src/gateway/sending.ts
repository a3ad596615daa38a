import type { OpenrpcMethod } from "../openrpc/specification.ts";
import type { Clock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import { isExactly, methodNotFound, shuttingDown, WireError } from "../protocol/errors.ts";
import type { Log } from "../protocol/log.ts";
import { failure, isNotification, type Reply, type Request } from "../protocol/message.ts";
import { isEnvelope } from "../protocol/parse.ts";
import { inOrderOnly, noTarget, upstreamFailure } from "./failures.ts";
import { forwarded } from "./forwarded.ts";
import { BrokenStream, type RelaySettings, timeLeft } from "./relay.ts";
import type { Route } from "./routes.ts";
import { stays, type Target } from "./target.ts";
import { didNotRun, type Trouble, type Upstream } from "./upstream.ts";

/** Where a call goes on to. */
interface Way {
  readonly route: Route;
  readonly upstream: Upstream;
  /** What the upstream says of the method, if it does. */
  readonly described: OpenrpcMethod | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Most that goes on in one message. */
  readonly maxBytes: number;
}

/** How MCP gives up a call. */
const mcpCancel = "notifications/cancelled";
/** How language servers are told to stop what they report on under a token of theirs. */
const workCancel = "window/workDoneProgress/cancel";

/** Sends a call to a target of its upstream, and to another where that one did not run it or it may run twice. */
export async function sendOn(
  request: Request,
  context: Context,
  way: Way,
): Promise<Reply | undefined> {
  const { route, upstream, log } = way;
  if (upstream.config.version === "1.0" && isEnvelope(request.params)) return failure(inOrderOnly);
  const settings = settingsOf(request, context, way);
  // It names a call by an id that is another's on the next hop.
  if (settings.method === mcpCancel && isNotification(request)) return undefined;
  const isOwn = upstream.config.per === "connection" && stays(context);
  // On a connection that callers share, the token may be the one of another's call, which can be guessed.
  if (settings.method === workCancel && !isOwn) {
    return isNotification(request) ? undefined : failure(methodNotFound);
  }
  const tried: Target[] = [];
  let trouble: Trouble = "none";
  let failed: Reply = failure(noTarget);
  const { attempts = 3 } = route.config;
  upstream.enter(route);
  try {
    while (tried.length < attempts) {
      const target = upstream.pick(request, context, tried, trouble);
      if (target === undefined) break;
      tried.push(target);
      try {
        const reply = await target.send(request, context, settings);
        if (reply === undefined || !didNotRun(reply)) return reply;
        // What is too much for one that works is not for one that hardly does.
        trouble = isExactly(reply.error, shuttingDown) ? "stopping" : "none";
        failed = reply;
      } catch (error) {
        failed = failure(upstreamFailure(error));
        const { method } = request;
        const fields = { upstream: upstream.name, target: target.name, method, err: error };
        if (!(error instanceof WireError)) {
          // No wire fails like this: the link itself is at fault, or what makes it.
          log.error(fields, "a link failed");
          break;
        }
        log.info(fields, "a call failed");
        if (!mayRepeat(error, settings.idempotent)) break;
        if (trouble === "none") trouble = "away";
      }
      if (context.ended !== undefined) break;
    }
    return failed;
  } finally {
    upstream.leave(route);
  }
}

function settingsOf(
  request: Request,
  context: Context,
  { route, upstream, described, clock, maxBytes }: Way,
): RelaySettings {
  const { config } = route;
  const streams = described?.["x-stream"] !== undefined;
  const limitMs = (streams ? undefined : config.timeoutMs) ?? Number.POSITIVE_INFINITY;
  const left = Math.min(timeLeft(request, context, clock) ?? Number.POSITIVE_INFINITY, limitMs);
  return {
    method: route.there(request.method),
    idempotent: config.idempotent ?? described?.["x-idempotent"] === true,
    goesElsewhere: upstream.targets.length > 1,
    streams,
    version: upstream.config.version,
    timeoutMs: Number.isFinite(left) ? left : undefined,
    headers: forwarded(context, upstream.config.forwardHeaders),
    maxBytes,
  };
}

/** Whether a call that failed so may go to another target. */
function mayRepeat(error: WireError, idempotent: boolean): boolean {
  if (error instanceof BrokenStream) return false;
  return didNotRun(error) || (idempotent && isPassing(error));
}

/** Whether another target may do better. */
function isPassing({ code, status }: WireError): boolean {
  return (
    code === "CONNECTION_LOST" ||
    code === "CLOSED" ||
    (code === "HTTP_STATUS" && status !== undefined && status >= 502)
  );
}
