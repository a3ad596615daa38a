import type { IncomingMessage, ServerResponse } from "node:http";
import type { Channel, ChannelListener, CloseReason } from "../../../connection/channel.ts";
import { Connection } from "../../../connection/connection.ts";
import { quiet } from "../../../connection/quiet.ts";
import { eventHeaders } from "../../../http/event-peer.ts";
import { keepAliveText } from "../../../http/event-stream.ts";
import { readBody } from "../../../http/node-body.ts";
import { NodeEventSink, whenClosed } from "../../../http/node-event-sink.ts";
import { NodeTransport } from "../../../http/node-transport.ts";
import { bufferedTooMuch, type Refusal } from "../../../http/refusal.ts";
import type { Principal } from "../../../protocol/origin.ts";
import type { NodeHandler } from "../../../transports/http/node-handler.ts";
import { mcpNotices } from "../../notices.ts";
import type { McpServer } from "../mcp-server.ts";
import { Authorization } from "./authorization.ts";
import { admission } from "./mcp-admission.ts";
import type { McpHttpOptions } from "./mcp-endpoint.ts";
import { McpHead } from "./mcp-head.ts";
import * as refusals from "./mcp-refusals.ts";
import { McpResponse } from "./mcp-response.ts";

/** A stream of events one way and requests the other, as one wire. */
class HttpSseChannel implements Channel {
  readonly #sink: NodeEventSink;
  #listener: ChannelListener | undefined;

  constructor(sink: NodeEventSink) {
    this.#sink = sink;
  }

  get bufferedBytes(): number {
    return this.#sink.bufferedBytes;
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
  }

  send(text: string): void {
    this.#sink.write(`event: message\ndata: ${text}\n\n`);
  }

  receive(text: string): void {
    this.#listener?.message(text);
  }

  gone(): void {
    this.#listener?.end();
  }

  close(reason: CloseReason = "done"): void {
    if (reason === "slow-reader" || reason === "dead") this.#sink.cut();
    else this.#sink.end();
  }
}

interface Open {
  readonly connection: Connection;
  readonly channel: HttpSseChannel;
  readonly principal: string | undefined;
}

/** Most clients at the same time; each holds a connection. */
const mostOpen = 1_000;
/** How long calls may take to finish when the server closes. */
const drainMs = 10_000;

/** The transport of 2024-11-05: GET opens a stream, which says where to POST. */
export function httpSseHandler(
  server: McpServer,
  { authorization: options, keepAliveMs = 15_000 }: McpHttpOptions,
  path: string,
): NodeHandler {
  const open = new Map<string, Open>();
  const admit = admission(server, options && new Authorization(options));
  const { clock } = server.running;
  const refuse = (response: ServerResponse, refusal: Refusal): void =>
    new McpResponse(response, undefined, server).refuse(refusal);
  server.onClose(() => Promise.all(Array.from(open.values(), (each) => each.connection.close())));

  const connect = (
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): void => {
    const id = crypto.randomUUID();
    const sink = new NodeEventSink(response);
    const channel = new HttpSseChannel(sink);
    response.writeHead(200, eventHeaders);
    sink.write(`event: endpoint\ndata: ${path}?sessionId=${id}\n\n`);
    const connection = new Connection(channel, {
      service: server,
      transport: new NodeTransport(request),
      notices: mcpNotices,
      verdict: { value: principal },
    });
    open.set(id, { connection, channel, principal: principal?.id });
    const beat = (): void => {
      sink.write(keepAliveText);
      timer = clock.after(keepAliveMs, beat);
    };
    let timer = clock.after(keepAliveMs, beat);
    whenClosed(response, () => {
      timer.cancel();
      open.delete(id);
      channel.gone();
    });
  };

  const receive = (
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): void => {
    // Not read as a URL, which this may not be.
    const [, query = ""] = (request.url ?? "").split("?");
    const found = open.get(new URLSearchParams(query).get("sessionId") ?? "");
    if (found === undefined || found.principal !== principal?.id) {
      refuse(response, refusals.sessionGone);
      return;
    }
    const { maxMessageBytes } = server.limits;
    readBody(
      request,
      { maxMessageBytes, buffers: server.running.buffers },
      (text) => {
        if (text === undefined) refuse(response, refusals.unreadable);
        else {
          response.writeHead(202, { "content-length": 0 }).end();
          found.channel.receive(text);
        }
      },
      (fault) =>
        refuse(
          response,
          fault === "too-large" ? refusals.tooLarge(maxMessageBytes) : bufferedTooMuch,
        ),
    );
  };

  const route = (
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): void => {
    if (request.method === "POST") receive(request, response, principal);
    else if (request.method !== "GET") refuse(response, refusals.notAllowed("GET, POST"));
    else if (open.size >= mostOpen) refuse(response, refusals.tooManySessions);
    else connect(request, response, principal);
  };

  const handle: NodeHandler = (request, response) => {
    if (admit === undefined) {
      route(request, response, undefined);
      return;
    }
    // Also for each message: who knows the address of a session is not yet who opened it.
    admit(request, new McpHead(request))
      .then((found) => {
        if ("refusal" in found) refuse(response, found.refusal);
        else route(request, response, found.principal);
      })
      .catch((error: unknown) => {
        server.log.error({ err: error }, "a request could not be answered");
        refuse(response, refusals.failed);
      });
  };
  const idle = async (): Promise<void> => {
    await Promise.all(Array.from(open.values(), (each) => quiet(each.connection.origin, drainMs)));
  };
  return Object.assign(handle, { idle });
}
