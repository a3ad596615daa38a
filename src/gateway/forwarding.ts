import type { OpenrpcMethod } from "../openrpc/specification.ts";
import type { Clock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import { isEnvelope } from "../protocol/envelope.ts";
import { WireError } from "../protocol/errors.ts";
import { callFailureIn } from "../protocol/failure-data.ts";
import type { Log } from "../protocol/log.ts";
import {
  type ErrorObject,
  failure,
  isNotification,
  type Reply,
  type Request,
} from "../protocol/message.ts";
import {
  type AlsoTemporary,
  maySendAgain,
  outcomeOf,
  replyAfter,
  worseOf,
} from "../protocol/retry-rule.ts";
import { methodNotFound } from "../protocol/standard-errors.ts";
import { BrokenStream, inOrderOnly, noTarget, upstreamFailure } from "./failures.ts";
import { forwardedHeaders } from "./forwarded-headers.ts";
import { type RelaySettings, timeLeft } from "./relay.ts";
import type { Route } from "./routes.ts";
import { staysConnected, type Target } from "./target.ts";
import type { Trouble, Upstream } from "./upstream.ts";
import type { SendUpstream } from "./upstream-call.ts";

/** Where a call is forwarded to. */
interface Way {
  readonly route: Route;
  readonly upstream: Upstream;
  /** The upstream's description of the method, if it has one. */
  readonly described: OpenrpcMethod | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Longest message to the upstream. */
  readonly maxBytes: number;
  readonly send: SendUpstream;
}

/** The notification that cancels an MCP request. */
const mcpCancel = "notifications/cancelled";
/** The notification that cancels work of a language server by its token. */
const workCancel = "window/workDoneProgress/cancel";

/** Forwards a call to a target of its upstream, and to another one if the retry rule allows it. */
export async function forwardCall(
  request: Request,
  context: Context,
  way: Way,
): Promise<Reply | undefined> {
  const { route, upstream, log } = way;
  if (upstream.config.version === "1.0" && isEnvelope(request.params)) return failure(inOrderOnly);
  const settings = settingsOf(request, context, way);
  // It refers to a call by an id that belongs to another call on the upstream.
  if (settings.method === mcpCancel && isNotification(request)) return undefined;
  const isOwn = upstream.config.per === "connection" && staysConnected(context);
  // On a shared connection the token may be that of another caller, whose tokens can be guessed.
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
        if (error === undefined || !maySendAgain(outcomeOf(error), settings))
          return replyAfter(outcomeOf(failed) === "may-have-run", reply);
        trouble = troubleAfter(callFailureIn(error)?.reason);
        failed = worseOf(failed, error);
      } catch (error) {
        failed = worseOf(failed, upstreamFailure(error));
        const { method } = request;
        const fields = { upstream: upstream.name, target: target.name, method, err: error };
        if (!(error instanceof WireError)) {
          // Transports only throw WireErrors, so this is a bug of the link.
          log.error(fields, "a link threw an unexpected error");
          break;
        }
        log.info(fields, "a call to a target failed");
        const isFinal = error instanceof BrokenStream;
        if (isFinal || !maySendAgain(outcomeOf(error, linkClosed), settings)) break;
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
  { route, upstream, described, clock, maxBytes, send }: Way,
): RelaySettings {
  const { config } = route;
  const streams = described?.["x-stream"] !== undefined;
  const limitMs =
    (streams || request.upload ? undefined : config.timeoutMs) ?? Number.POSITIVE_INFINITY;
  const left = Math.min(timeLeft(request, context, clock) ?? Number.POSITIVE_INFINITY, limitMs);
  return {
    method: route.there(request.method),
    idempotent: config.idempotent ?? described?.["x-idempotent"] === true,
    goesElsewhere: upstream.targets.length > 1,
    streams,
    version: upstream.config.version,
    timeoutMs: Number.isFinite(left) ? left : undefined,
    headers: forwardedHeaders(context, upstream.config.forwardHeaders),
    maxBytes,
    send,
  };
}

/** The link to one target is closed; the others are not. */
const linkClosed: AlsoTemporary = { codes: ["CLOSED"] };

function troubleAfter(reason: string | undefined): Trouble {
  if (reason === "stopping") return "stopping";
  // If a healthy target is overloaded, an unhealthy one won't cope either.
  return reason === "busy" ? "none" : "away";
}
