import { type EventHost, EventPeer } from "../../../http/event-peer.ts";
import { replyForm } from "../../../http/media-type.ts";
import type { Session } from "../session.ts";
import type { McpEndpoint } from "./mcp-endpoint.ts";
import type { McpExchange } from "./mcp-exchange.ts";
import { alreadyListening, streamGone, unacceptable } from "./mcp-refusals.ts";
import { eventForm, StreamPeer } from "./stream-peer.ts";

/** GET: what the server sends outside of requests, or the rest of a stream that was cut. */
export function listen(endpoint: McpEndpoint, session: Session, request: McpExchange): void {
  const { head } = request.exchange.message;
  const lastEventId = head.get("last-event-id");
  if (replyForm(head.accept) === "json") request.refuse(unacceptable);
  else if (lastEventId !== undefined) resume(endpoint, session, request, lastEventId);
  else if (session.isListening) request.refuse(alreadyListening);
  else open(endpoint, session, request);
}

function open(
  { events: settings, replay }: McpEndpoint,
  session: Session,
  { exchange }: McpExchange,
): void {
  // The reader of an earlier stream has gone, and did not resume it.
  session.listening?.abandon();
  const host: EventHost = {
    origin: undefined,
    openEvents: () => exchange.openSink((sink) => events.detach(sink)),
    abandon() {
      if (session.listening !== events) return;
      session.listening = undefined;
      session.peer = undefined;
    },
  };
  const events = new EventPeer(host, eventForm(session.revision), settings, () =>
    replay.record(session.id),
  );
  session.listening = events;
  session.peer = new StreamPeer(events, session);
  events.open();
}

function resume(
  { replay }: McpEndpoint,
  session: Session,
  request: McpExchange,
  lastEventId: string,
): void {
  const found = replay.find(lastEventId, session.id);
  if (found?.recording.reaches(found.after)) request.exchange.replay(found.recording, found.after);
  else request.refuse(streamGone);
}
