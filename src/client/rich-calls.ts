import type { Handle } from "../protocol/handle.ts";
import {
  failure,
  type Reply,
  type Request,
  success,
  type TypedPaths,
} from "../protocol/message.ts";
import { badReply } from "../protocol/pair.ts";
import { ValueCodec } from "../protocol/value-codec.ts";
import type { ClientOptions } from "./client.ts";
import type { OutgoingCall } from "./outgoing-call.ts";

/** Most rich values in a message of the server; more than any reply has, and fewer than take long to read. */
const mostValues = 100_000;

/**
 * Makes the calls of a client with rich values. Middleware sees their JSON form, which is what can be signed and sent
 * again. Clients load this file when they need it, so that other pages do without it.
 */
export class RichCalls {
  readonly #codec: ValueCodec;

  constructor({ types, version }: ClientOptions) {
    if (version === "1.0") throw new TypeError('values: "rich" needs JSON-RPC 2.0');
    this.#codec = new ValueCodec(types, mostValues);
  }

  async run(call: OutgoingCall, handle: Handle): Promise<Reply | undefined> {
    const decode = (json: unknown, types: TypedPaths): unknown => {
      try {
        return this.#codec.decode(json, types);
      } catch (cause) {
        throw badReply(`${call.method}: ${(cause as Error).message}`, { cause });
      }
    };
    call.decode = decode;
    const reply = await handle(this.#encoded(call.request), call);
    if (reply?.types === undefined) return reply;
    const { result, error, types } = reply;
    if (error === undefined) return success(decode(result, types));
    const { code, message, data } = error;
    return failure({ code, message, data: decode(data, types) });
  }

  #encoded(request: Request): Request {
    const { params } = request;
    const typed = params === undefined ? undefined : this.#codec.encode(params);
    // Its presence tells the server that this client accepts rich values.
    if (typed === undefined) return { ...request, types: {} };
    return { ...request, params: typed.value as Request["params"], types: typed.types };
  }
}
