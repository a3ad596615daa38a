import { type EventHost, EventPeer, type EventSink } from "../../../http/event-peer.ts";
import { keepAliveText } from "../../../http/event-stream.ts";
import { replyForm } from "../../../http/media-type.ts";
import { parseEventId } from "../../../http/replay.ts";
import type { Timer } from "../../../protocol/clock.ts";
import type { MaybePromise } from "../../../protocol/message.ts";
import type { Session } from "../session.ts";
import type { McpEndpoint } from "./mcp-endpoint.ts";
import type { McpExchange } from "./mcp-exchange.ts";
import { alreadyListening, streamGone, unacceptable } from "./mcp-refusals.ts";
import type { SharedSessions } from "./shared-sessions.ts";
import { reaches, type StreamRecord } from "./shared-streams.ts";
import { eventForm, StreamPeer } from "./stream-peer.ts";

/** GET: what the server sends outside of requests, or the rest of a stream that was cut. */
export function listen(
  endpoint: McpEndpoint,
  session: Session,
  request: McpExchange,
): MaybePromise<void> {
  const { head } = request.exchange.message;
  const lastEventId = head.get("last-event-id");
  if (replyForm(head.accept) === "json") request.refuse(unacceptable);
  else if (lastEventId !== undefined) return resume(endpoint, session, request, lastEventId);
  else if (session.isListening) request.refuse(alreadyListening);
  else open(endpoint, session, request);
}

function open(
  { events: settings, replay, shared }: McpEndpoint,
  session: Session,
  { exchange }: McpExchange,
): EventPeer {
  // The reader of an earlier stream disconnected, and did not resume it.
  session.listening?.abandon();
  const host: EventHost = {
    origin: undefined,
    openEvents: () => exchange.openSink((sink) => events.detach(sink)),
    abandon() {
      shared?.leave(session);
      shared?.updates.leave();
      if (session.listening !== events) return;
      session.listening = undefined;
      session.peer = undefined;
    },
  };
  const events = new EventPeer(host, eventForm(session.revision), settings, () =>
    replay.record(session.id, (key) => shared?.copy(key, session, undefined, true)),
  );
  session.listening = events;
  session.peer = new StreamPeer(events, session);
  shared?.enter(session);
  shared?.updates.enter();
  events.open();
  return events;
}

function resume(
  endpoint: McpEndpoint,
  session: Session,
  request: McpExchange,
  lastEventId: string,
): MaybePromise<void> {
  const { replay, shared } = endpoint;
  const found = replay.find(lastEventId, session.id);
  if (found?.recording.reaches(found.after)) request.exchange.replay(found.recording, found.after);
  else if (found !== undefined || shared === undefined) request.refuse(streamGone);
  else return resumeShared(endpoint, shared, session, request, lastEventId);
}

/** Resumes a stream that another process has begun. */
async function resumeShared(
  endpoint: McpEndpoint,
  shared: SharedSessions,
  session: Session,
  request: McpExchange,
  lastEventId: string,
): Promise<void> {
  const { key, after } = parseEventId(lastEventId);
  const record = key === "" ? undefined : await shared.streams.find(key, session.id, after);
  if (record === undefined || !reaches(record, after)) request.refuse(streamGone);
  else if (record.body.listens) takeOver(endpoint, session, request, record, after);
  else {
    let stop = (): void => {};
    let timer: Timer | undefined;
    const sink = request.exchange.openSink(() => {
      timer?.cancel();
      stop();
    });
    if (sink === undefined) return;
    sink.flush();
    timer = keepAlive(endpoint, sink, (next) => {
      timer = next;
    });
    stop = shared.streams.follow(key, record, after, sink);
  }
}

/** Continues the stream on which a session listens, beginning with what the client has missed. */
function takeOver(
  endpoint: McpEndpoint,
  session: Session,
  request: McpExchange,
  { body }: StreamRecord,
  after: number,
): void {
  if (session.isListening) {
    request.refuse(alreadyListening);
    return;
  }
  const events = open(endpoint, session, request);
  for (const data of body.events.slice(after - body.first + 1)) events.sendEvent(data);
}

function keepAlive(endpoint: McpEndpoint, sink: EventSink, renewed: (timer: Timer) => void): Timer {
  const { clock, keepAliveMs } = endpoint.events;
  return clock.after(keepAliveMs, () => {
    if (!sink.full) sink.write(keepAliveText);
    renewed(keepAlive(endpoint, sink, renewed));
  });
}
