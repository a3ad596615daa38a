/** Deliveries of CloudEvents, such as Dapr's, as calls of methods. @module callwire/cloudevents */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type BodyFault, messageLimits } from "../http/http-message.ts";
import { NodeMessage } from "../http/node-message.ts";
import { ErrorCode } from "../protocol/errors.ts";
import type { Params } from "../protocol/message.ts";
import { Origin, type Transport } from "../protocol/origin.ts";
import type { Service } from "../protocol/service.ts";
import type { NodeHandler } from "../transports/http/node-handler.ts";
import { type CloudEvent, deliveryOf } from "./cloud-event-reading.ts";
import { asDapr, type EventSubscription, methodsOf } from "./event-subscription.ts";

export type { CloudEvent } from "./cloud-event-reading.ts";
export type { EventSubscription } from "./event-subscription.ts";

export interface CloudEventsOptions {
  /** The answer to `/dapr/subscribe`. If there are any, events reach only these methods, and those that `methodOf` returns. @default none */
  readonly subscriptions?: readonly EventSubscription[];
  /** Where events are delivered; below it, the rest of the path is the method. @default "/events" */
  readonly path?: string;
  /** The method for an event delivered at the path itself; it may be any of the service. @default the event's type */
  readonly methodOf?: (event: CloudEvent) => string;
  /** The params of the call. @default the event's data if it is an object or an array, otherwise the data as the only param */
  readonly paramsOf?: (event: CloudEvent) => Params;
  /** The token that Dapr sends as `dapr-api-token` (its `APP_API_TOKEN`); stops deliveries from other senders. @default none is required */
  readonly apiToken?: string;
}

/**
 * Handlers for the `mounts` of `serveHttp`. A delivery is answered when its method has finished: as a
 * success, as one to drop because a retry cannot help, or as one that the broker should retry.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { cloudEvents } from "callwire/cloudevents";
 * import { serveHttp } from "callwire/http/node";
 *
 * const shop = createServer({ orders: { created: ({ id }: { id: number }) => console.log(id) } });
 * const subscriptions = [{ pubsub: "bus", topic: "orders", method: "orders/created" }];
 * await serveHttp(shop, { mounts: cloudEvents(shop, { subscriptions }) });
 * ```
 */
export function cloudEvents(
  service: Service,
  options: CloudEventsOptions = {},
): Readonly<Record<string, NodeHandler>> {
  const { path = "/events", subscriptions = [] } = options;
  const { paramsOf = dataAsParams } = options;
  if (options.apiToken === "") throw new TypeError('"apiToken" must not be empty');
  const listed = new Set(subscriptions.flatMap(methodsOf));
  const raw = new Set(subscriptions.filter((each) => each.raw === true).flatMap(methodsOf));
  const isRefused = (request: IncomingMessage, response: ServerResponse): boolean => {
    const { apiToken } = options;
    if (apiToken === undefined || isSame(request.headers["dapr-api-token"], apiToken)) return false;
    answer(response, 401, { error: "the header dapr-api-token is missing or wrong" });
    return true;
  };
  /** Publishers must not reach other methods than those with a subscription, if there are any. */
  const isOffered = (method: string): boolean =>
    !method.startsWith("rpc.") && (listed.size === 0 || listed.has(method));
  const below = `${path}/`;
  const wanted = JSON.stringify(
    subscriptions.map((each) => asDapr(each, (method) => below + encodeURIComponent(method))),
  );
  const handle = async (
    event: CloudEvent | undefined,
    named: string | undefined,
    request: IncomingMessage,
  ): Promise<Outcome> => {
    if (event === undefined) return "DROP";
    try {
      const chosen = named === undefined ? options.methodOf?.(event) : undefined;
      const method = chosen ?? named ?? event.type;
      if (chosen === undefined && !isOffered(method)) return "DROP";
      return await run(service, method, paramsOf(event), event, request);
    } catch (err) {
      // An option threw, or its result cannot be written as JSON, such as data of a thousand levels.
      service.log.error({ err, event: event.id }, "could not convert an event to a call");
      return "RETRY";
    }
  };
  const deliver: NodeHandler = (request, response) => {
    if (isRefused(request, response)) return;
    if (request.method !== "POST") {
      answer(
        response,
        405,
        { error: "events are sent with the HTTP method POST" },
        { allow: "POST" },
      );
      return;
    }
    const named = methodIn(request.url ?? "", below);
    const { maxMessageBytes } = service.limits;
    const message = new NodeMessage(request, response, messageLimits(service));
    const refusals: Partial<Record<BodyFault, readonly [status: number, error: string]>> = {
      "too-large": [413, `an event must have at most ${maxMessageBytes} bytes`],
      unreadable: [400, "the body cannot be inflated"],
      encoded: [415, "the Content-Encoding of the body is not supported"],
    };
    const take = (text: string | undefined): void => {
      const takesRaw = named !== undefined && raw.has(named);
      const delivery = deliveryOf(request.headers, text, takesRaw);
      if (typeof delivery === "string") {
        answer(response, 400, { error: delivery });
        return;
      }
      const { events, entryIds } = delivery;
      const { maxBatchConcurrency } = service.limits;
      const calls = handleAll(events, maxBatchConcurrency, (event) =>
        handle(event, named, request),
      );
      void calls.then((outcomes) => {
        if (entryIds === undefined) conclude(response, outcomes);
        else answer(response, 200, { statuses: statusesOf(entryIds, outcomes) });
      });
    };
    message.read({
      received: take,
      failed(fault) {
        const [status, error] = refusals[fault] ?? [503, "server busy"];
        if (message.isAnswered) return;
        message.sendEarly(status, JSON.stringify({ error }), { connection: "close" });
      },
    });
  };
  return {
    "/dapr/subscribe": (request, response) => {
      if (!isRefused(request, response)) send(response, 200, wanted);
    },
    [path]: deliver,
    [below]: deliver,
  };
}

/** What a broker is to do with an event. */
type Outcome = "SUCCESS" | "DROP" | "RETRY";

/** Handles a limited number at the same time: one delivery may hold thousands, and other calls must run too. */
async function handleAll(
  events: readonly (CloudEvent | undefined)[],
  atOnce: number,
  handle: (event: CloudEvent | undefined) => Promise<Outcome>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const left = events.entries();
  const handleNext = async (): Promise<void> => {
    for (const [i, event] of left) outcomes[i] = await handle(event);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, events.length) }, handleNext));
  return outcomes;
}

/** Errors of the event itself, which a retry cannot fix. */
const lasting: ReadonlySet<number> = new Set([
  ErrorCode.InvalidRequest,
  ErrorCode.MethodNotFound,
  ErrorCode.InvalidParams,
]);

async function run(
  service: Service,
  method: string,
  params: Params,
  event: CloudEvent,
  request: IncomingMessage,
): Promise<Outcome> {
  // Ids of events may have any length, but ids of calls may not.
  const id = event.id.slice(0, service.limits.maxIdLength);
  const text = JSON.stringify({ jsonrpc: "2.0", method, params, id });
  const origin = new Origin(transportOf(event, request));
  // A result that cannot be sent must not make the broker retry a call that has run.
  origin.dropsResults = true;
  const reply = await service.receive(text, origin);
  const { error } = JSON.parse(reply ?? "{}") as { error?: { code: number; message: string } };
  if (error === undefined) return "SUCCESS";
  const outcome = lasting.has(error.code) ? "DROP" : "RETRY";
  service.log.warn(
    { method, event: event.id, code: error.code, outcome },
    "an event was not handled",
  );
  return outcome;
}

/** Gives the attributes of an event as headers, as in the binary form, whatever form it has. */
function transportOf(event: CloudEvent, { headers, socket }: IncomingMessage): Transport {
  const { data: _, traceparent, tracestate, ...attributes } = event;
  // A "ce-" header of the delivery must not appear as an attribute that the event does not have.
  const others = Object.entries(headers).filter(([name]) => !name.startsWith("ce-"));
  const own = Object.entries(attributes).flatMap(([name, value]) =>
    isSimple(value) ? [[`ce-${name}`, `${value}`]] : [],
  );
  return {
    kind: "cloudevents",
    headers: {
      ...Object.fromEntries([...others, ...own]),
      ...(typeof traceparent === "string" ? { traceparent } : undefined),
      ...(typeof tracestate === "string" ? { tracestate } : undefined),
    },
    remoteAddress: socket.remoteAddress,
  };
}

/** Attributes are strings, numbers or booleans; other values are ignored. */
function isSimple(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** The outcome of each entry of Dapr's bulk form. */
function statusesOf(entryIds: readonly string[], outcomes: readonly Outcome[]): object[] {
  return entryIds.map((entryId, i) => ({ entryId, status: outcomes[i] }));
}

/** Compares digests, so that the time does not depend on how much of a token is right. */
function isSame(given: string | string[] | undefined, expected: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return typeof given === "string" && timingSafeEqual(digest(given), digest(expected));
}

/** Brokers other than Dapr only look at the status. */
function conclude(response: ServerResponse, outcomes: readonly Outcome[]): void {
  const retry = outcomes.includes("RETRY");
  const dropped = outcomes.length > 0 && outcomes.every((outcome) => outcome === "DROP");
  answer(response, retry ? 503 : 200, { status: retry ? "RETRY" : dropped ? "DROP" : "SUCCESS" });
}

function dataAsParams({ data }: CloudEvent): Params {
  return typeof data === "object" && data !== null ? (data as Params) : [data];
}

function methodIn(url: string, below: string): string | undefined {
  const [path = ""] = url.split("?");
  if (!path.startsWith(below) || path.length === below.length) return undefined;
  const name = path.slice(below.length);
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function answer(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  send(response, status, JSON.stringify(body), headers);
}

function send(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(body);
}
