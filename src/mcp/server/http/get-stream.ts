import { type EventHost, EventPeer } from "../../../http/event-peer.ts";
import { replyForm } from "../../../http/media-type.ts";
import type { Session } from "../session.ts";
import { eventForm } from "./event-form.ts";
import type { McpEndpoint } from "./mcp-endpoint.ts";
import type { McpHead } from "./mcp-head.ts";
import { alreadyListening, streamGone, unacceptable } from "./mcp-refusals.ts";
import type { McpResponse } from "./mcp-response.ts";
import { StreamPeer } from "./stream-peer.ts";

/** GET: what the server says outside of requests, or the rest of a stream that was cut. */
export function listen(
  endpoint: McpEndpoint,
  session: Session,
  response: McpResponse,
  head: McpHead,
): void {
  if (replyForm(head.accept) === "json") response.refuse(unacceptable);
  else if (head.lastEventId !== undefined) resume(endpoint, session, response, head.lastEventId);
  else if (session.isListening) response.refuse(alreadyListening);
  else open(endpoint, session, response);
}

function open({ events: settings, replay }: McpEndpoint, session: Session, response: McpResponse) {
  // One whose reader has gone and came back without its place.
  session.listening?.abandon();
  const host: EventHost = {
    openEvents: () => response.events((sink) => events.detach(sink)),
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
  events.start();
}

function resume(
  { replay }: McpEndpoint,
  session: Session,
  response: McpResponse,
  lastEventId: string,
): void {
  const found = replay.find(lastEventId, session.id);
  if (found === undefined || !found.recording.reaches(found.after)) {
    response.refuse(streamGone);
    return;
  }
  const { recording, after } = found;
  const sink = response.events((gone) => recording.peer?.detach(gone));
  if (sink !== undefined) recording.replay(after, sink);
}
