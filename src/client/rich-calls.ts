import type { ItemMembers } from "../protocol/link.ts";
import { noTypes, type Params, type Request, type TypedPaths } from "../protocol/message.ts";
import { badReply } from "../protocol/pair.ts";
import { ValueCodec } from "../protocol/value-codec.ts";
import type { ClientOptions } from "./client.ts";

/** Most rich values in a message of the server; more than any reply has, and fewer than take long to read. */
const mostValues = 100_000;

/**
 * Converts the messages of a client with rich values. Middleware sees their JSON form, which is what can be signed and
 * sent again. Clients load this file when they need it, so that other pages do without it.
 */
export class RichCalls {
  readonly #codec: ValueCodec;

  constructor({ types, version }: Pick<ClientOptions, "types" | "version">) {
    if (version === "1.0") throw new TypeError('values: "rich" needs JSON-RPC 2.0');
    this.#codec = new ValueCodec(types, mostValues);
  }

  /** The request as it is sent. Its member `types` shows the server that this client accepts rich values. */
  encode({ jsonrpc, method, params, id, timeoutMs, upload }: Request): Request {
    const typed = params === undefined ? undefined : this.#codec.encode(params);
    const types = typed?.types ?? noTypes;
    const sent = typed === undefined ? params : (typed.value as Params);
    return { jsonrpc, method, params: sent, id, timeoutMs, types, upload };
  }

  /** An item of an upload as it is sent. */
  members(item: unknown): ItemMembers {
    return this.#codec.members(item);
  }

  /** Throws if the types do not fit. */
  decode(json: unknown, types: TypedPaths): unknown {
    try {
      return this.#codec.decode(json, types);
    } catch (cause) {
      throw badReply((cause as Error).message, { cause });
    }
  }
}
