import {
  type Attached,
  type AttachedReply,
  type Attachments,
  attachedIn,
  countedBytes,
} from "../protocol/attachments.ts";
import { membersOf } from "../protocol/envelope.ts";
import { WireError } from "../protocol/errors.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import { changeHeld } from "../protocol/memory-bounds.ts";
import type { Id, Reply, Request } from "../protocol/message.ts";
import { errorText, resultText } from "../protocol/reply-text.ts";
import { idText } from "../protocol/serialize.ts";
import { methodNotFound } from "../protocol/standard-errors.ts";
import {
  ArrivingBytes,
  type ArrivingStream,
  type ByteReader,
  type Part,
} from "./arriving-bytes.ts";
import { byteFrame, longestFrame, readByteFrame, shortestLimit } from "./byte-frames.ts";
import { unlessCancelled } from "./cancelled-wait.ts";
import type { ConnectionState } from "./connection-state.ts";
import { type ByteSink, LeavingBytes, type LeavingStream } from "./leaving-bytes.ts";
import { callPeer } from "./peer-call.ts";

/** How long the peer may take to say whether it accepts frames of bytes. */
const answerMs = 10_000;

/**
 * The bytes that travel beside the messages of a connection, in frames of their own. The reader of a message asks for
 * each part of it, and gives the stream a number, so nothing is sent unless it was requested.
 */
export class BytesBeside implements ByteReader {
  readonly #state: ConnectionState;
  readonly #link: Pick<Link, "send">;
  readonly #ownLimit: number;
  /** Longest frame that the peer accepts; undefined if it has not said that it accepts any. */
  #peerLimit: number | undefined;
  #asked: Promise<boolean> | undefined;
  /** The number of the last stream that was asked for. */
  #last = 0;
  readonly #arriving = new Map<number, ArrivingStream>();
  /** What is beside the peer's calls, by their ids. */
  readonly #params = new Map<Id, ArrivingBytes>();
  /** What the peer may ask for, by the kind of message and its id. */
  readonly #messages = {
    params: new Map<Id, LeavingBytes>(),
    result: new Map<Id, LeavingBytes>(),
  };
  /** Bytes in memory of results that the peer has not read. */
  unreadBytes = 0;
  /** What it has asked for, by its numbers. */
  readonly #leaving = new Map<number, LeavingStream>();

  /** `link` sends calls to the peer. */
  constructor(state: ConnectionState, link: Pick<Link, "send">) {
    this.#state = state;
    this.#link = link;
    this.#ownLimit = Math.min(longestFrame, Math.floor(state.limits.maxMessageBytes));
  }

  /** Whether the peer accepts frames of bytes; it is asked once. */
  accepted(): Promise<boolean> {
    this.#asked ??= this.#peerLimit === undefined ? this.#ask() : Promise.resolve(true);
    return this.#asked;
  }

  async #ask(): Promise<boolean> {
    if (this.#ownLimit < shortestLimit) return false;
    const params = { maxFrameBytes: this.#ownLimit };
    const { clock } = this.#state.running;
    try {
      const options = { timeoutMs: answerMs };
      return this.#agree(await callPeer(this.#link, "$/acceptsBytes", params, options, clock));
    } catch {
      return false;
    }
  }

  /** The peer asks whether frames are accepted. */
  answer(id: Id, params: unknown): void {
    const isAgreed = this.#ownLimit >= shortestLimit && this.#agree(params);
    const result = JSON.stringify({ maxFrameBytes: this.#ownLimit });
    this.#state.reply(
      isAgreed
        ? resultText("2.0", idText(id), result)
        : errorText("2.0", idText(id), methodNotFound),
    );
  }

  /** Stores what the peer declares that it accepts. */
  #agree(said: unknown): boolean {
    const { maxFrameBytes } = membersOf(said);
    if (!isCount(maxFrameBytes) || maxFrameBytes < shortestLimit) return false;
    this.#peerLimit = Math.min(maxFrameBytes, longestFrame);
    const { origin } = this.#state;
    origin.attachments = (id) => this.#paramsOf(id);
    origin.attach = (reply) => this.#attach(reply);
    return true;
  }

  /** Sends a call with bytes beside it; `write` writes its message. */
  async send(
    request: Request,
    attachments: Attachments,
    outgoing: Outgoing,
    write: () => Promise<Reply | undefined>,
  ): Promise<Reply | undefined> {
    const { id, params, types = {} } = request;
    const calls = this.#messages.params;
    let bytes: LeavingBytes | undefined;
    try {
      if (this.#peerLimit === undefined) await unlessCancelled(this.accepted(), outgoing);
      if (outgoing.failed !== undefined) throw outgoing.failed;
      if (this.#peerLimit === undefined || id === undefined) throw notAccepted();
      const sent = progressOf(attachedIn(params, types), outgoing);
      const failed = (cause: unknown): void => failCall(request, outgoing, cause);
      bytes = new LeavingBytes(attachments, Number.POSITIVE_INFINITY, { sent, failed });
      calls.set(id, bytes);
      return await write();
    } finally {
      if (id !== undefined && calls.get(id) === bytes) calls.delete(id);
      if (bytes === undefined) attachments.discard();
      else bytes.end();
    }
  }

  /** A reply to a call of ours, with the bytes that it announces. */
  received(id: Id, reply: Reply): Reply {
    if (reply.error !== undefined) return reply;
    try {
      if (attachedIn(reply.result, reply.types ?? {}).length === 0) return reply;
    } catch {
      // Whatever decodes the result reports it.
      return reply;
    }
    return { ...reply, attachments: new ArrivingBytes(this, id, "result") };
  }

  /** The calls of the peer in this payload were answered. */
  answered(payload: unknown): void {
    if (this.#params.size === 0) return;
    for (const message of Array.isArray(payload) ? payload : [payload]) {
      const { id } = membersOf(message) as { id?: Id };
      const bytes = id === undefined ? undefined : this.#params.get(id);
      if (bytes === undefined) continue;
      this.#params.delete(id as Id);
      bytes.discard();
    }
  }

  #paramsOf(id: Id | undefined): Attachments | undefined {
    if (id === undefined || !this.#state.isOpen) return undefined;
    let bytes = this.#params.get(id);
    if (bytes === undefined) {
      bytes = new ArrivingBytes(this, id, "params");
      this.#params.set(id, bytes);
    }
    return bytes;
  }

  /** A result counts as a stream until it was read, so that a peer cannot leave any number of them unread. */
  #attach({ id, attached, attachments }: AttachedReply): boolean {
    const { origin, isOpen } = this.#state;
    const { result: replies } = this.#messages;
    if (id === undefined || replies.has(id) || origin.hasAllStreams || !isOpen) return false;
    const bytes = countedBytes(attachments);
    const done = (): void => {
      replies.delete(id);
      origin.count(-1, -1);
      this.unreadBytes -= bytes;
    };
    const failed = (err: unknown): void => {
      this.#state.log.warn({ err, id }, "the bytes of a result could not be read");
    };
    origin.count(1, 1);
    replies.set(id, new LeavingBytes(attachments, attached.length, { done, failed }));
    this.unreadBytes += bytes;
    this.#state.running.buffers.moved(bytes);
    return true;
  }

  begin(stream: ArrivingStream, part: Part, credit: number): number {
    if (!this.#state.isOpen) throw new WireError("CONNECTION_LOST", "the connection is closed");
    const number = ++this.#last;
    this.#arriving.set(number, stream);
    this.#state.notify("$/readBytes", { ...part, stream: number, credit });
    return number;
  }

  grant(stream: number, credit: number): void {
    this.#state.notify("$/bytesCredit", { stream, credit });
  }

  end(stream: number, isAnnounced: boolean): void {
    this.#arriving.delete(stream);
    if (isAnnounced) this.#state.notify("$/dropBytes", { stream });
  }

  dropReply(id: Id): void {
    this.#state.notify("$/cancelRequest", { id });
  }

  hold(bytes: number): boolean {
    const { running, origin } = this.#state;
    return changeHeld(bytes, running.held, origin.held);
  }

  /** The peer has cancelled a call, or reads no more of its reply. */
  cancelled(id: Id): void {
    this.#messages.result.get(id)?.end();
  }

  /** Takes a notification of the peer about bytes; false if it is not one. */
  notice(method: string, params: unknown): boolean {
    const { id, part, of, stream, credit } = membersOf(params) as {
      id?: Id;
      part?: unknown;
      of?: unknown;
      stream?: unknown;
      credit?: unknown;
    };
    const isNumbered = isCount(stream) && stream < 2 ** 32;
    switch (method) {
      case "$/readBytes":
        if (isNumbered && isCount(credit) && isCount(part) && id !== undefined) {
          const messages = of === "result" ? this.#messages.result : this.#messages.params;
          this.#open(messages.get(id), part, stream, credit);
        }
        return true;
      case "$/bytesCredit":
        if (isNumbered && isCount(credit)) this.#leaving.get(stream)?.grant(credit);
        return true;
      case "$/dropBytes":
        if (isNumbered) this.#leaving.get(stream)?.stop();
        return true;
      default:
        return false;
    }
  }

  /** Takes a frame; returns what is wrong with it. */
  frame(received: Uint8Array): string | undefined {
    const frame = readByteFrame(received);
    if (frame === undefined || frame.stream === 0 || frame.stream > this.#last)
      return "a frame of bytes must belong to a stream that was asked for";
    const stream = this.#arriving.get(frame.stream);
    // Without a stream it was on its way when the stream was dropped.
    if (stream === undefined || stream.push(frame)) return undefined;
    stream.drop();
    return "a frame has no bytes, or more than there was credit for";
  }

  /** The connection is closed. */
  close(error: Error): void {
    const { params, result } = this.#messages;
    for (const bytes of [...params.values(), ...result.values()]) bytes.end();
    for (const stream of [...this.#arriving.values()]) stream.fail(error);
    this.#params.clear();
  }

  #open(bytes: LeavingBytes | undefined, part: number, stream: number, credit: number): void {
    if (this.#peerLimit === undefined || this.#leaving.has(stream)) return;
    const sink = this.#sink(stream, this.#peerLimit);
    const sent = bytes?.open(part, credit, sink);
    if (sent === undefined) sink.frame("failed", new Uint8Array(0));
    else if (!sent.isOver) this.#leaving.set(stream, sent);
  }

  #sink(stream: number, frameBytes: number): ByteSink {
    return {
      frameBytes,
      ready: () => this.#state.ready(),
      frame: (kind, bytes) => this.#state.writeBytes(byteFrame(stream, kind, bytes)),
      over: () => void this.#leaving.delete(stream),
    };
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function notAccepted(): WireError {
  return new WireError("UNSUPPORTED", "the peer does not accept bytes beside a message");
}

/** Reports how much was sent. */
function progressOf(
  attached: readonly Attached[],
  { options }: Outgoing,
): ((bytes: number) => void) | undefined {
  const report = options?.onUploadProgress;
  if (report === undefined) return undefined;
  const total = attached.every(({ size }) => size !== undefined)
    ? attached.reduce((sum, { size = 0 }) => sum + size, 0)
    : undefined;
  let sent = 0;
  return (bytes) => {
    sent += bytes;
    report({ sent, total });
  };
}

function failCall({ method }: Request, outgoing: Outgoing, cause: unknown): void {
  const why = cause instanceof Error ? cause.message : `${cause}`;
  const sentence = `the bytes of ${method} could not be read: ${why}`;
  outgoing.cancel?.(new WireError("ABORTED", sentence, { cause }));
}
