import type { ServerResponse } from "node:http";
import { type EventHost, EventPeer, eventHeaders } from "../../../transports/http/events.ts";
import { replyForm } from "../../../transports/http/media-type.ts";
import { NodeEventSink } from "../../../transports/http/node-events.ts";
import type { Refusal } from "../../../transports/http/status.ts";
import type { Session } from "../session.ts";
import { eventForm } from "./event-form.ts";
import type { McpEndpoint } from "./mcp-endpoint.ts";
import type { McpHead } from "./mcp-head.ts";
import { alreadyListening, streamGone, unacceptable } from "./refusals.ts";
import { StreamPeer } from "./stream-peer.ts";

/** GET: what the server says outside of requests, or the rest of a stream that was cut. */
export function listen(
  endpoint: McpEndpoint,
  session: Session,
  response: ServerResponse,
  head: McpHead,
  cors: Readonly<Record<string, string>> | undefined,
): Refusal | undefined {
  if (replyForm(head.accept) === "json") return unacceptable;
  if (head.lastEventId !== undefined) return resume(endpoint, session, response, head, cors);
  if (session.isListening) return alreadyListening;
  // One whose reader has gone and came back without its place.
  session.listening?.abandon();
  const host: EventHost = {
    openEvents() {
      const sink = new NodeEventSink(response);
      response.writeHead(200, { ...eventHeaders, ...cors });
      response.flushHeaders();
      response.on("close", () => events.detach(sink));
      return sink;
    },
    abandon() {
      if (session.listening !== events) return;
      session.listening = undefined;
      session.peer = undefined;
    },
  };
  const events = new EventPeer(host, eventForm(session.revision), endpoint.events, () =>
    endpoint.replay.record(session.id),
  );
  session.listening = events;
  session.peer = new StreamPeer(events, session);
  events.start();
  return undefined;
}

function resume(
  { replay }: McpEndpoint,
  session: Session,
  response: ServerResponse,
  head: McpHead,
  cors: Readonly<Record<string, string>> | undefined,
): Refusal | undefined {
  const found = replay.find(head.lastEventId as string, session.id);
  if (found === undefined || !found.recording.reaches(found.after)) return streamGone;
  const { recording, after } = found;
  const sink = new NodeEventSink(response);
  response.writeHead(200, { ...eventHeaders, ...cors });
  response.flushHeaders();
  response.on("close", () => recording.peer?.detach(sink));
  recording.replay(after, sink);
  return undefined;
}
