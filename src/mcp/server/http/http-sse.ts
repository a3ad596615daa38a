import type { Channel, ChannelListener, CloseReason } from "../../../connection/channel.ts";
import { Connection } from "../../../connection/connection.ts";
import { type EventSink, eventHeaders } from "../../../http/event-peer.ts";
import { keepAliveText } from "../../../http/event-stream.ts";
import { type HttpMessage, messageLimits } from "../../../http/http-message.ts";
import { HttpTransport } from "../../../http/http-transport.ts";
import { NodeMessage } from "../../../http/node-message.ts";
import { bufferedTooMuch, type Refusal, unsupportedEncoding } from "../../../http/refusal.ts";
import { defaultDrainMs, defaultKeepAliveMs } from "../../../protocol/defaults.ts";
import type { Principal } from "../../../protocol/origin.ts";
import { callsDone } from "../../../protocol/origin-calls.ts";
import type { NodeHandler } from "../../../transports/http/node-handler.ts";
import { mcpNotices } from "../../notices.ts";
import type { McpServer } from "../mcp-server.ts";
import { Authorization, admission } from "./authorization.ts";
import type { McpHttpOptions } from "./mcp-endpoint.ts";
import * as refusals from "./mcp-refusals.ts";

/** An event stream to the client and requests from it, as one channel. */
class HttpSseChannel implements Channel {
  readonly #sink: EventSink;
  #listener: ChannelListener | undefined;

  constructor(sink: EventSink) {
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

/** Most clients at the same time, since each holds a connection. */
const mostOpen = 1_000;

/** The transport of 2024-11-05: GET opens a stream, which says where to POST. */
export function httpSseHandler(
  server: McpServer,
  { authorization: options, keepAliveMs = defaultKeepAliveMs }: McpHttpOptions,
  path: string,
): NodeHandler {
  const open = new Map<string, Open>();
  const admit = admission(server, options && new Authorization(options));
  const { clock } = server.running;
  const limits = messageLimits(server);
  const refuse = (message: HttpMessage, { status, body, headers }: Refusal): void => {
    if (!message.isAnswered) message.send(status, body, headers);
  };
  server.onClose(() => Promise.all(Array.from(open.values(), (each) => each.connection.close())));

  const connect = (message: HttpMessage, principal: Principal | undefined): void => {
    const id = crypto.randomUUID();
    const sink = message.openEvents(eventHeaders, () => {
      timer.cancel();
      open.delete(id);
      channel.gone();
    });
    if (sink === undefined) return;
    const channel = new HttpSseChannel(sink);
    sink.write(`event: endpoint\ndata: ${path}?sessionId=${id}\n\n`);
    const connection = new Connection(channel, {
      service: server,
      transport: new HttpTransport(message, undefined),
      notices: mcpNotices,
      decision: { value: principal },
    });
    open.set(id, { connection, channel, principal: principal?.id });
    const beat = (): void => {
      sink.write(keepAliveText);
      timer = clock.after(keepAliveMs, beat);
    };
    let timer = clock.after(keepAliveMs, beat);
  };

  const receive = (message: HttpMessage, principal: Principal | undefined): void => {
    // Not parsed as a URL, which may be invalid.
    const [, query = ""] = message.url.split("?");
    const found = open.get(new URLSearchParams(query).get("sessionId") ?? "");
    if (found === undefined || found.principal !== principal?.id) {
      refuse(message, refusals.sessionGone);
      return;
    }
    message.read({
      received(text) {
        if (text === undefined) refuse(message, refusals.unreadable);
        else {
          if (!message.isAnswered) message.send(202, "", undefined);
          found.channel.receive(text);
        }
      },
      failed(fault) {
        if (fault === "too-large") refuse(message, refusals.tooLarge(limits.maxMessageBytes));
        else if (fault === "unreadable") refuse(message, refusals.unreadable);
        else if (fault === "encoded") refuse(message, unsupportedEncoding(message.codings));
        else refuse(message, bufferedTooMuch);
      },
    });
  };

  const route = (message: HttpMessage, principal: Principal | undefined): void => {
    const { method } = message.head;
    if (method === "POST") receive(message, principal);
    else if (method !== "GET") refuse(message, refusals.notAllowed("GET, POST"));
    else if (open.size >= mostOpen) refuse(message, refusals.tooManySessions);
    else connect(message, principal);
  };

  const handle: NodeHandler = (request, response) => {
    const message = new NodeMessage(request, response, limits);
    // Also for each message: knowing the address of a session does not prove that one opened it.
    admit(message, {
      refuse: (refusal) => refuse(message, refusal),
      admitted: (principal) => route(message, principal),
    });
  };
  const idle = async (): Promise<void> => {
    await Promise.all(
      Array.from(open.values(), (each) =>
        callsDone(() => each.connection.origin.inFlight, defaultDrainMs),
      ),
    );
  };
  return Object.assign(handle, { idle });
}
