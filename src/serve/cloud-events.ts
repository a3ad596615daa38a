/** Deliveries of CloudEvents, such as Dapr's, as calls of methods. @module callwire/cloudevents */
import type { IncomingMessage, ServerResponse } from "node:http";
import { defaultWriteTimeoutMs } from "../http/event-peer.ts";
import { NodeMessage } from "../http/node-message.ts";
import { ErrorCode } from "../protocol/errors.ts";
import type { Params } from "../protocol/message.ts";
import { Origin, type Transport } from "../protocol/origin.ts";
import type { Service } from "../protocol/service.ts";
import type { NodeHandler } from "../transports/http/node-handler.ts";
import { type CloudEvent, eventsOf } from "./cloud-event.ts";

export type { CloudEvent } from "./cloud-event.ts";

/** Which events of a broker go to which method. */
export interface EventSubscription {
  /** The name of Dapr's component. */
  readonly pubsub: string;
  readonly topic: string;
  /** Called once for each event. */
  readonly method: string;
  /** Where Dapr puts what could not be delivered. */
  readonly deadLetterTopic?: string;
}

export interface CloudEventsOptions {
  /** What `/dapr/subscribe` asks Dapr for. Where there are some, events reach these methods only, and what `methodOf` chooses. */
  readonly subscriptions?: readonly EventSubscription[];
  /** Where events are delivered; below it, the method is in the path. @default "/events" */
  readonly path?: string;
  /** The method of an event that was delivered at the path itself, any that the service has. @default the event's type */
  readonly methodOf?: (event: CloudEvent) => string;
  /** Makes the params of the call from an event. @default the event's data where it is an object or an array, else the data as the only param */
  readonly paramsOf?: (event: CloudEvent) => Params;
}

/**
 * Handlers for the `mounts` of `serveHttp`. A delivery is answered when its method is done: taken,
 * dropped where no repetition could help, or refused so that the broker tries again.
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
  const listed = new Set(subscriptions.map(({ method }) => method));
  /** Whoever publishes must not choose among all methods where only some were asked for. */
  const isOffered = (method: string): boolean =>
    !method.startsWith("rpc.") && (listed.size === 0 || listed.has(method));
  const below = `${path}/`;
  const wanted = JSON.stringify(
    subscriptions.map(({ pubsub, topic, method, deadLetterTopic }) => ({
      pubsubname: pubsub,
      topic,
      route: below + encodeURIComponent(method),
      ...(deadLetterTopic === undefined ? undefined : { deadLetterTopic }),
    })),
  );
  const handle = async (
    event: CloudEvent,
    named: string | undefined,
    request: IncomingMessage,
  ): Promise<Outcome> => {
    try {
      const chosen = named === undefined ? options.methodOf?.(event) : undefined;
      const method = chosen ?? named ?? event.type;
      if (chosen === undefined && !isOffered(method)) return "DROP";
      return await run(service, method, paramsOf(event), event, request);
    } catch (err) {
      // An option threw, or what it gave has no form in JSON, such as data of a thousand levels.
      service.log.error({ err, event: event.id }, "an event could not become a call");
      return "RETRY";
    }
  };
  const deliver: NodeHandler = (request, response) => {
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
    const { buffers, clock } = service.running;
    const limits = { clock, buffers, maxMessageBytes, writeTimeoutMs: defaultWriteTimeoutMs };
    const message = new NodeMessage(request, response, limits);
    const take = (text: string | undefined): void => {
      const events = eventsOf(request.headers, text);
      if (typeof events === "string") {
        answer(response, 400, { error: events });
        return;
      }
      const { maxBatchConcurrency } = service.limits;
      const calls = handleAll(events, maxBatchConcurrency, (event) =>
        handle(event, named, request),
      );
      void calls.then((outcomes) => conclude(response, outcomes));
    };
    message.read({
      received: take,
      failed(fault) {
        const isTooLarge = fault === "too-large";
        const error = isTooLarge
          ? `an event holds at most ${maxMessageBytes} bytes`
          : "server busy";
        const body = JSON.stringify({ error });
        if (message.isAnswered) return;
        message.sendEarly(isTooLarge ? 413 : 503, body, { connection: "close" });
      },
    });
  };
  return {
    "/dapr/subscribe": (_, response) => send(response, 200, wanted),
    [path]: deliver,
    [below]: deliver,
  };
}

/** What a broker is to do with an event. */
type Outcome = "SUCCESS" | "DROP" | "RETRY";

/** So many at a time: one delivery may hold thousands, and must leave room for other calls to run. */
async function handleAll(
  events: readonly CloudEvent[],
  atOnce: number,
  handle: (event: CloudEvent) => Promise<Outcome>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const left = events.values();
  const handleNext = async (): Promise<void> => {
    for (const event of left) outcomes.push(await handle(event));
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, events.length) }, handleNext));
  return outcomes;
}

/** What is wrong with the event itself stays wrong however often it comes. */
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
  // Ids of events may be of any length, those of calls may not.
  const id = event.id.slice(0, service.limits.maxIdLength);
  const text = JSON.stringify({ jsonrpc: "2.0", method, params, id });
  const origin = new Origin(transportOf(event, request));
  // A method that has done its work must not do it again for what it returns.
  origin.dropsResults = true;
  const reply = await service.receive(text, origin);
  const { error } = JSON.parse(reply ?? "{}") as { error?: { code: number; message: string } };
  if (error === undefined) return "SUCCESS";
  const outcome = lasting.has(error.code) ? "DROP" : "RETRY";
  service.log.warn(
    { method, event: event.id, code: error.code, outcome },
    "an event was not taken",
  );
  return outcome;
}

/** The attributes of an event are headers, as in the binary form, whatever form it came in. */
function transportOf(event: CloudEvent, { headers, socket }: IncomingMessage): Transport {
  const { data: _, traceparent, tracestate, ...attributes } = event;
  // A header of the delivery is no attribute of an event that has none of the name.
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

/** An attribute is a text, a number or a truth value; what else stands there is no attribute. */
function isSimple(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** Brokers that know no Dapr go by the status alone. */
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
