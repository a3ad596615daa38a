import { writeRequest } from "../../http/client-exchange.ts";
import type { Clock } from "../../protocol/clock.ts";
import { itemWindow } from "../../protocol/item-queue.ts";
import type { Link, Outgoing } from "../../protocol/link.ts";
import type { Reply, Request } from "../../protocol/message.ts";
import { creditedText } from "../../protocol/serialize.ts";
import type { Service } from "../../protocol/service.ts";
import type { Tap } from "../../protocol/tap.ts";
import { inboxOf } from "./address.ts";
import { batchLink } from "./batch-link.ts";
import type { NatsConnection } from "./client-library.ts";
import { headersOf } from "./headers.ts";
import { Mailbox } from "./mailbox.ts";
import { ReplySubjects } from "./reply-subjects.ts";
import { Subjects } from "./subjects.ts";

export interface NatsLinkOptions {
  /** Where the workers serve; `math/add` is then called at `subject.math.add`. */
  readonly subject: string;
  /** Sent with every payload, such as a token; a call's own headers come on top. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Answers what the workers call back. */
  readonly service?: Service | undefined;
  /** Whether the calls of a batch travel apart, as they must where workers serve different methods. @default false */
  readonly splitBatches?: boolean | undefined;
  /** How often the worker of a long call is asked whether it is still there; `Infinity` for never. @default 5000 */
  readonly aliveMs?: number | undefined;
  /** Sees each message as it travels, such as to show it. */
  readonly tap?: Tap | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Calls workers over NATS. The connection is yours: it may have other uses, closing the link leaves
 * it open, and it heals by itself. While it is down, calls fail at once.
 */
export function natsLink(connection: NatsConnection, options: NatsLinkOptions): Link {
  const subjects = new Subjects(options.subject);
  const lastResort = [subjects.leaving];
  const others = [subjects.any, ...lastResort];
  const mailbox = new Mailbox(connection, inboxOf(connection), {
    service: options.service,
    subjects,
    replies: ReplySubjects.ofLink(connection, subjects),
    aliveMs: options.aliveMs,
    clock: options.clock,
  });
  const link = batchLink(
    mailbox.calls,
    (text, payload) => {
      const [only, second] = payload.requests;
      const subject =
        second === undefined && only !== undefined && text.charCodeAt(0) !== 0x5b
          ? subjects.of(only.method)
          : subjects.batch;
      const otherwise = subject === subjects.any ? lastResort : others;
      return mailbox.calls.exchange(
        { subject, otherwise },
        text,
        payload,
        headersOf(payload, options.headers),
      );
    },
    { write: textOf, tap: options.tap, close: () => mailbox.close() },
  );
  const send = (request: Request, outgoing: Outgoing): Promise<Reply | undefined> => {
    const isStream = outgoing.read === true && request.jsonrpc !== undefined;
    return link.send(isStream ? { ...request, credit: itemWindow } : request, outgoing);
  };
  const way: Link = {
    send,
    sendBatch: (requests, outgoing) =>
      options.splitBatches === true
        ? requests.map((request, i) => send(request, outgoing[i] as Outgoing))
        : link.sendBatch(requests, outgoing),
    close: () => link.close(),
  };
  mailbox.way = way;
  return way;
}

function textOf(request: Request, alone: boolean): string {
  const text = writeRequest(request, alone);
  return request.credit === undefined ? text : creditedText(text, request.credit);
}
