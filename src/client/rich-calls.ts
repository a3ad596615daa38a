import {
  type Attachments,
  attachedIn,
  type ByteKind,
  defaultMaxBytes,
  mostInside,
  withBytesInside,
} from "../protocol/attachments.ts";
import { WireError } from "../protocol/errors.ts";
import type { Handle } from "../protocol/handle.ts";
import { itemMembers } from "../protocol/item-members.ts";
import type { Values } from "../protocol/json-value.ts";
import { carries, type ItemMembers } from "../protocol/link.ts";
import type { MaybePromise, Params, Reply, Request, TypedPaths } from "../protocol/message.ts";
import { badReply } from "../protocol/pair.ts";
import { ReceivedBytes } from "../protocol/received-bytes.ts";
import { ValueCodec } from "../protocol/value-codec.ts";
import type { ClientOptions } from "./client.ts";
import type { OutgoingCall } from "./outgoing-call.ts";

/** What is read before the call returns; streams are read by the caller. */
const collected: ReadonlySet<ByteKind> = new Set(["bytes", "blob", "file"]);

/** Most rich values in a message of the server; more than any reply has, and fewer than take long to read. */
const mostValues = 100_000;

/**
 * Converts the messages of a client with rich values. Middleware sees their JSON form, which is what can be signed and
 * sent again. Clients load this file when they need it, so that other pages do without it.
 */
export class RichCalls {
  readonly #codec: ValueCodec;

  constructor(options: ClientOptions<unknown, Values>) {
    if (options.values !== "rich" || options.version === "1.0") {
      throw new TypeError('values: "json", or "rich" in JSON-RPC 2.0');
    }
    this.#codec = new ValueCodec(options.types, mostValues);
  }

  /** The request as it is sent; its member `types` shows the server that this client accepts rich values. */
  #encode(request: Request, call: OutgoingCall): Request | Promise<Request> {
    const { params } = request;
    const attaches = Boolean(call.carriesBytes);
    const typed = params === undefined ? undefined : this.#codec.encode(params, attaches);
    if (typed === undefined) return request;
    const { value, types, attachments } = typed;
    const encoded = { ...request, params: value as Params, types };
    if (attachments === undefined) return encoded;
    const isCarried = carries(call, encoded);
    if (isCarried === true) return { ...encoded, attachments };
    return this.#whenKnown(encoded, attachments, isCarried, call);
  }

  /** The request with its bytes beside it or, if the link cannot carry them, inside. */
  async #whenKnown(
    request: Request,
    attachments: Attachments,
    isCarried: MaybePromise<boolean>,
    { signal }: OutgoingCall,
  ): Promise<Request> {
    if (await isCarried) return { ...request, attachments };
    return withBytesInside(request, attachments, mostInside, signal);
  }

  /** Sends a request in its JSON form. */
  send(request: Request, call: OutgoingCall, handle: Handle): ReturnType<Handle> {
    const encoded = this.#encode(request, call);
    if (!(encoded instanceof Promise)) return handle(encoded, call);
    return encoded.then((whole) => {
      if (call.failed) whole.attachments?.discard();
      return call.failed ? undefined : handle(whole, call);
    });
  }

  /** Reads the bytes beside a reply while the call can still be cancelled. */
  async collect(reply: Reply, attachments: Attachments, call: OutgoingCall): Promise<Reply> {
    const cancel = (): void => attachments.discard();
    call.cancel = cancel;
    if (call.failed) cancel();
    try {
      const max = attachments.maxBytes ?? defaultMaxBytes;
      const bytes = new ReceivedBytes(attachments, max, Number.POSITIVE_INFINITY);
      // Otherwise a server could fill memory with many values, each of which is short enough.
      await bytes.collect(attachedIn(reply.result, reply.types ?? {}), collected, { total: max });
      call.bytes = bytes;
      return reply;
    } catch (cause) {
      attachments.discard();
      if (cause instanceof WireError) throw cause;
      const { message } = cause as Error;
      throw cause instanceof RangeError
        ? new WireError("TOO_LARGE", message, { cause })
        : badReply(message, { cause });
    }
  }

  /** An item of an upload as it is sent. */
  members(item: unknown, signal: AbortSignal): ItemMembers | Promise<ItemMembers> {
    return itemMembers(this.#codec, item, mostInside, signal);
  }

  /** Throws if the types do not fit. */
  decode(json: unknown, types: TypedPaths, bytes?: ReceivedBytes): unknown {
    try {
      return this.#codec.decode(json, types, bytes);
    } catch (cause) {
      throw badReply((cause as Error).message, { cause });
    }
  }
}
