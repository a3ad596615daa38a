import type { OpenrpcMethod } from "../openrpc/specification.ts";
import type { Clock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import { callFailureIn, methodNotFound, WireError } from "../protocol/errors.ts";
import type { Log } from "../protocol/log.ts";
import {
  type ErrorObject,
  failure,
  isNotification,
  type Reply,
  type Request,
} from "../protocol/message.ts";
import { isEnvelope } from "../protocol/parse.ts";
import { type AlsoTemporary, maySendAgain, outcomeOf, worseOf } from "../protocol/retry-rule.ts";
import { BrokenStream, inOrderOnly, noTarget, upstreamFailure } from "./failures.ts";
import { forwarded } from "./forwarded.ts";
import { type RelaySettings, timeLeft } from "./relay.ts";
import type { Route } from "./routes.ts";
import { stays, type Target } from "./target.ts";
import type { Trouble, Upstream } from "./upstream.ts";

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
  let failed: ErrorObject = noTarget;
  const { attempts = 3 } = route.config;
  upstream.enter(route);
  try {
    while (tried.length < attempts) {
      const target = upstream.pick(request, context, tried, trouble);
      if (target === undefined) break;
      tried.push(target);
      try {
        const reply = await target.send(request, context, settings);
        const error = reply?.error;
        if (error === undefined || !maySendAgain(outcomeOf(error), settings.idempotent))
          return reply;
        trouble = troubleAfter(callFailureIn(error)?.reason);
        failed = worseOf(failed, error);
      } catch (error) {
        failed = worseOf(failed, upstreamFailure(error));
        const { method } = request;
        const fields = { upstream: upstream.name, target: target.name, method, err: error };
        if (!(error instanceof WireError)) {
          // No wire fails like this: the link itself is at fault, or what makes it.
          log.error(fields, "a link failed");
          break;
        }
        log.info(fields, "a call failed");
        const isFinal = error instanceof BrokenStream;
        if (isFinal || !maySendAgain(outcomeOf(error, linkClosed), settings.idempotent)) break;
        if (trouble === "none") trouble = "away";
      }
      if (context.ended !== undefined) break;
    }
    return failure(failed);
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

/** The link to one target is closed; the others are not. */
const linkClosed: AlsoTemporary = { codes: ["CLOSED"] };

function troubleAfter(reason: string | undefined): Trouble {
  if (reason === "stopping") return "stopping";
  // If a healthy target is overloaded, an unhealthy one won't cope either.
  return reason === "busy" ? "none" : "away";
}
