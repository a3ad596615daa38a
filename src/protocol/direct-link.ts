import { exchangeLink, type Payload } from "./exchange.ts";
import type { Link, UploadSink } from "./link.ts";
import { heapBytes } from "./memory-bounds.ts";
import type { Id, Params } from "./message.ts";
import { Origin, type Peer, type Principal, type Transport, unreachablePeer } from "./origin.ts";
import { abandonCalls } from "./origin-calls.ts";
import { requestText } from "./serialize.ts";
import type { Service } from "./service.ts";
import { requestCancelled } from "./standard-errors.ts";
import { receiveUpload } from "./upload.ts";

/** On whose behalf a program calls a service of its own process. */
export interface DirectCaller {
  /** The authenticated caller, whom middleware then does not ask for credentials. @default by the headers, else anonymous */
  readonly principal?: Principal | undefined;
  /** What handlers see as `call.transport.headers`, such as those of the page that is rendered. @default none */
  readonly headers?: Transport["headers"] | Headers | undefined;
}

/**
 * Calls a service of this process without a wire. Params and results are the same as over one, and so are middleware,
 * access rules and limits. Nothing has to be closed.
 * @example
 * ```ts
 * import { createClient, directLink } from "callwire";
 *
 * const client = createClient<typeof methods>(directLink(server, { principal: { id: "ann" } }));
 * console.log(await client.api.math.add({ a: 2, b: 3 }));
 * ```
 */
export function directLink(service: Service, { principal, headers = {} }: DirectCaller = {}): Link {
  const given = headers instanceof Headers ? Object.fromEntries(headers) : lowerCase(headers);
  return exchangeLink(async (text, payload) => {
    const own = payload.headers === undefined ? given : { ...given, ...lowerCase(payload.headers) };
    const transport = { kind: "direct", headers: own, remoteAddress: undefined };
    const grantUpload = (id: Id, count: number): void => {
      payload.outgoing[0]?.upload?.grant(count, directSink(service, origin, id));
    };
    const peer = { ...directPeer(payload), grantUpload };
    const origin = new Origin(transport, peer, service.limits);
    origin.principal = principal;
    const cancel = (): void => abandonCalls(service.running, origin, requestCancelled);
    payload.onCancel = cancel;
    return service.receive(text, origin);
  });
}

/** The caller as the service sees it: items and progress go to its payload. */
function directPeer(payload: Payload): Peer {
  let reading: Promise<void> | undefined;
  return {
    ...unreachablePeer,
    canNotify: true,
    closed: new Promise(() => {}),
    ready: () => reading,
    notify(method: string, params?: Params): boolean {
      const taken = payload.receive(requestText({ jsonrpc: "2.0", method, params }));
      if (typeof taken === "object") {
        const read: Promise<void> = taken.then(() => {
          if (reading === read) reading = undefined;
        });
        reading = read;
      }
      return !payload.cancelled;
    },
  };
}

/** Items pass as JSON, as over a wire. */
function directSink({ running }: Service, origin: Origin, id: Id): UploadSink {
  return {
    item(members) {
      const text = JSON.stringify({ id, ...members });
      receiveUpload(running, origin, JSON.parse(text), text.length, heapBytes(text));
    },
    done: () => receiveUpload(running, origin, { id, done: true }, 0, 0),
    ready: () => undefined,
  };
}

function lowerCase(headers: Transport["headers"]): Transport["headers"] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
