import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { defaultWriteTimeoutMs, type EventSink, eventHeaders } from "../../../http/event-peer.ts";
import { NodeEventSink, whenClosed } from "../../../http/node-event-sink.ts";
import type { Refusal } from "../../../http/refusal.ts";
import { endReply } from "../../../http/unread-reply.ts";
import type { McpServer } from "../mcp-server.ts";

type HeaderRecord = Readonly<Record<string, string>>;

/** The answer to one request of HTTP, with what MCP adds to its headers. */
export class McpResponse {
  readonly raw: ServerResponse;
  readonly #cors: HeaderRecord | undefined;
  readonly #server: Pick<McpServer, "log" | "running">;
  /** Told to the client whose session begins with this. */
  sessionId: string | undefined = undefined;

  constructor(
    raw: ServerResponse,
    cors: HeaderRecord | undefined,
    server: Pick<McpServer, "log" | "running">,
  ) {
    this.raw = raw;
    this.#cors = cors;
    this.#server = server;
  }

  refuse({ status, body, headers }: Refusal): void {
    this.send(status, body, headers);
  }

  /** There is nothing to say. */
  accept(): void {
    this.send(202, "");
  }

  send(status: number, text: string, headers?: HeaderRecord): void {
    // Somebody else may have answered, such as a middleware that watches the time.
    if (this.raw.headersSent) return;
    try {
      this.raw.writeHead(status, this.head(status, text, headers));
    } catch (error) {
      this.#server.log.error({ err: error }, "an error carries invalid headers");
      this.raw.writeHead(status, this.head(status, text));
    }
    endReply(this.raw, text, this.#server.running.buffers, defaultWriteTimeoutMs);
  }

  /** Becomes a stream of events; `gone` hears when its reader has. */
  events(gone: (sink: EventSink) => void): EventSink | undefined {
    if (this.raw.headersSent) return undefined;
    const sink = new NodeEventSink(this.raw);
    this.raw.writeHead(200, this.#with(eventHeaders));
    this.raw.flushHeaders();
    whenClosed(this.raw, () => gone(sink));
    return sink;
  }

  head(status: number, text: string, more?: HeaderRecord): OutgoingHttpHeaders {
    const own: OutgoingHttpHeaders =
      text === ""
        ? noBody(status)
        : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) };
    return more === undefined && this.sessionId === undefined && this.#cors === undefined
      ? own
      : this.#with(own, more);
  }

  #with(own: OutgoingHttpHeaders, more?: HeaderRecord): OutgoingHttpHeaders {
    return {
      ...own,
      ...more,
      ...this.#cors,
      ...(this.sessionId !== undefined && { "mcp-session-id": this.sessionId }),
    };
  }
}

function noBody(status: number): OutgoingHttpHeaders {
  return status === 204 ? {} : { "Content-Length": 0 };
}
