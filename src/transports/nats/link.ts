import { writeRequest } from "../../http/client-exchange.ts";
import type { Clock } from "../../protocol/clock.ts";
import { exchangeLink } from "../../protocol/exchange.ts";
import { itemWindow } from "../../protocol/item-queue.ts";
import type { Link, Outgoing } from "../../protocol/link.ts";
import type { Reply, Request } from "../../protocol/message.ts";
import { creditedText } from "../../protocol/serialize.ts";
import type { Service } from "../../protocol/service.ts";
import type { Tap } from "../../protocol/tap.ts";
import type { NatsConnection } from "./client-library.ts";
import { headersOf } from "./headers.ts";
import { Mailbox } from "./mailbox.ts";
import { ReplySubjects } from "./reply-subjects.ts";
import { newInbox, Subjects } from "./subjects.ts";

export interface NatsLinkOptions {
  /** The subject of the workers; `math/add` is then called at `subject.math.add`. */
  readonly subject: string;
  /** Sent with every payload, such as a token; headers of a call override them. @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Answers calls from the workers back to this client. @default none, such calls fail */
  readonly service?: Service | undefined;
  /** Sends the calls of a batch separately, which is needed if workers serve different methods. @default false */
  readonly splitBatches?: boolean | undefined;
  /** How often the worker of a long call is probed. With `Infinity`, a call whose worker died waits for its timeout. @default 5000 */
  readonly aliveMs?: number | undefined;
  /** Sees each message as it is sent and received, such as to show it. @default none */
  readonly tap?: Tap | undefined;
  /** The time source, for tests. @default the system clock */
  readonly clock?: Clock | undefined;
}

/**
 * Calls workers over NATS. The connection is yours: closing the link leaves it open, and NATS's client reconnects by itself. While it is
 * down, calls fail at once.
 * @example
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { createClient } from "callwire";
 * import { natsLink } from "callwire/nats";
 *
 * const connection = await connect({ servers: "127.0.0.1:4222", maxReconnectAttempts: -1 });
 * const client = createClient<typeof methods>(natsLink(connection, { subject: "rpc" }));
 * console.log(await client.api.math.add({ a: 2, b: 3 }));
 * ```
 */
export function natsLink(connection: NatsConnection, options: NatsLinkOptions): Link {
  const subjects = new Subjects(options.subject);
  const lastResort = [subjects.leaving];
  const others = [subjects.any, ...lastResort];
  const mailbox = new Mailbox(connection, newInbox(connection), {
    service: options.service,
    subjects,
    replies: new ReplySubjects(connection, subjects, [], [subjects.worker("")]),
    aliveMs: options.aliveMs,
    clock: options.clock,
  });
  const exchange = exchangeLink(
    (text, payload) => {
      const [only, second] = payload.requests;
      const isBatch = second !== undefined || only === undefined || text.charCodeAt(0) === 0x5b;
      const subject = isBatch ? subjects.batch : subjects.of(only.method);
      const otherwise = subject === subjects.any ? lastResort : others;
      const headers = headersOf(payload, options.headers);
      return mailbox.outgoing.exchange({ subject, otherwise }, text, payload, headers);
    },
    { write: textOf, tap: options.tap, close: () => mailbox.close() },
  );
  const send = (request: Request, outgoing: Outgoing): Promise<Reply | undefined> => {
    const isStream = outgoing.read === true && request.jsonrpc !== undefined;
    return exchange.send(isStream ? { ...request, credit: itemWindow } : request, outgoing);
  };
  const link: Link = {
    send,
    sendBatch: (requests, outgoing) =>
      options.splitBatches === true
        ? requests.map((request, i) => send(request, outgoing[i] as Outgoing))
        : exchange.sendBatch(requests, outgoing),
    close: () => exchange.close(),
  };
  mailbox.link = link;
  return link;
}

function textOf(request: Request, alone: boolean): string {
  const text = writeRequest(request, alone);
  return request.credit === undefined ? text : creditedText(text, request.credit);
}
