import { membersOf } from "../protocol/envelope.ts";
import { WireError } from "../protocol/errors.ts";
import { itemWindow } from "../protocol/item-queue.ts";
import type { UploadSink } from "../protocol/link.ts";
import { heapBytes } from "../protocol/memory-bounds.ts";
import type { Id, TypedPaths } from "../protocol/message.ts";
import { callsOf, cancelCall, dropCall, giveUpQueued } from "../protocol/origin-calls.ts";
import { failUploads, itemUnreadable, receiveUpload } from "../protocol/upload.ts";
import type { ConnectionState } from "./connection-state.ts";
import type { Notice, Notices } from "./notices.ts";
import { UnreadItems } from "./pending.ts";

/** Handles a notification about a call; false if it is for a method. */
export function receiveNotice(
  state: ConnectionState,
  notices: Notices | undefined,
  method: string,
  params: unknown,
  /** Its JSON, or that of a batch with this many messages. */
  text: string,
  count: number,
): boolean {
  if (notices !== undefined) return receiveNamed(state, notices.read(method, params));
  return method.charCodeAt(0) === 0x24 && receiveSystem(state, method, params, text, count);
}

/** Notifies the peer that a call was cancelled. */
export function sendCancel(state: ConnectionState, notices: Notices | undefined, id: Id): void {
  const { method, params } = notices?.cancel(id) ?? { method: "$/cancelRequest", params: { id } };
  state.notify(method, params);
}

function receiveNamed(state: ConnectionState, notice: Notice | undefined): boolean {
  if (notice?.kind === "progress") state.pending.reported(notice.token)?.progress(notice.value);
  if (notice?.kind === "cancel") {
    dropCall(callsOf(state.running, state.origin), notice.id);
    giveUpQueued(state.origin, notice.id);
  }
  return notice !== undefined;
}

function receiveSystem(
  state: ConnectionState,
  method: string,
  params: unknown,
  text: string,
  messages: number,
): boolean {
  const { id, token, value, types, count } = membersOf(params) as {
    id?: Id;
    token?: unknown;
    value?: unknown;
    types?: TypedPaths;
    count?: unknown;
  };
  switch (method) {
    case "$/cancelRequest":
      if (id === undefined) return true;
      cancelCall(callsOf(state.running, state.origin), id);
      giveUpQueued(state.origin, id);
      state.beside?.cancelled(id);
      return true;
    case "$/progress": {
      const outgoing = state.pending.reported(token);
      outgoing?.progress(value, types);
      // A token that is not ours, such as one of partial results, is for a method.
      return outgoing !== undefined;
    }
    case "$/stream":
      if (id !== undefined) receiveItem(state, id, value, types, text.length / messages);
      return true;
    case "$/credit":
      if (id !== undefined && typeof count === "number" && count > 0) {
        state.origin.streams?.get(id)?.(count);
      }
      return true;
    case "$/upload":
      receiveUploaded(state, params, text, messages);
      return true;
    case "$/uploadCredit":
      if (id !== undefined && typeof count === "number" && count > 0) {
        state.pending.get(id)?.outgoing.upload?.grant(count, uploadSink(state, id));
      }
      return true;
    default:
      return state.beside?.notice(method, params) === true;
  }
}

/** An item that a call of the peer uploads, or its end. */
function receiveUploaded(
  state: ConnectionState,
  params: unknown,
  text: string,
  messages: number,
): void {
  const { running, origin, limits } = state;
  const length = text.length / messages;
  // While a reply is due, longer messages get here.
  if (text.length > limits.maxMessageBytes) failUploads(running, origin, itemUnreadable);
  else receiveUpload(running, origin, params, length, heapBytes(text) / messages);
}

/** Sends the items that a call of ours uploads. */
function uploadSink(state: ConnectionState, id: Id): UploadSink {
  return {
    item: (members) => void state.notify("$/upload", { id, ...members }),
    done: () => void state.notify("$/upload", { id, done: true }),
    ready: () => state.ready(),
  };
}

/** A producer that ignores credit must not fill memory, not even with few long items. */
function receiveItem(
  state: ConnectionState,
  id: Id,
  value: unknown,
  types: TypedPaths | undefined,
  length: number,
): void {
  const waiting = state.pending.get(id);
  if (waiting === undefined) return;
  const { outgoing, request } = waiting;
  waiting.unread ??= new UnreadItems((count) => state.notify("$/credit", { id, count }));
  const most = itemWindow * state.limits.maxMessageBytes;
  if (waiting.unread.add(length, most)) void outgoing.item(value, waiting.unread.credit, types);
  else {
    const sentence = `${request.method} sent more than ${most} characters ahead of its reader`;
    outgoing.cancel?.(new WireError("TOO_LARGE", sentence));
  }
}
