import type { Clock } from "../../protocol/clock.ts";
import type { Log } from "../../protocol/log.ts";
import { RareWarning } from "../../protocol/rare-warning.ts";
import type { Msg, NatsConnection } from "./client-library.ts";
import {
  defaultInboxPrefix,
  inboxPrefixOf,
  otherAccountPrefix,
  type Subjects,
  workersPrefix,
} from "./subjects.ts";

/** A message with a longer reply subject and a worker's own address would exceed NATS's limit, which closes the connection. */
const longestReply = 1_000;
const longestLogged = 200;

/**
 * Where messages may be answered: at the inboxes of callers, and for a link also at the addresses of its workers. nats-server does not
 * check the reply subject that a client writes, so without this check a caller of one method could make the worker publish to any subject
 * that the worker may publish to.
 */
export class ReplySubjects {
  /** Prefixes of inboxes, each with a dot; the shortest first. */
  readonly #inboxes: readonly string[];
  readonly #accepted: readonly string[];
  readonly #own: string;

  constructor(
    connection: NatsConnection,
    { base }: Subjects,
    inboxPrefixes: readonly string[] = [],
    addresses: readonly string[] = [],
  ) {
    const prefixes = [inboxPrefixOf(connection), ...inboxPrefixes];
    for (const prefix of prefixes) requirePrefix(prefix, base);
    this.#inboxes = [...new Set([defaultInboxPrefix, ...prefixes])]
      .map((prefix) => `${prefix}.`)
      .sort((a, b) => a.length - b.length);
    this.#accepted = [...this.#inboxes, otherAccountPrefix, ...addresses];
    this.#own = `${base}.`;
  }

  accepts(reply: string): boolean {
    if (reply.length > longestReply || reply.startsWith(this.#own)) return false;
    if (reply.includes("*") || reply.includes(">")) return false;
    return this.#accepted.some((prefix) => reply.startsWith(prefix));
  }

  /**
   * The part of an inbox that a user cannot vary if permissions give each user a prefix of its own: `_INBOX.ann` for `_INBOX.ann.x.cw`. With
   * the default prefix that is one connection, or one link.
   */
  userOf(inbox: string): string {
    const prefix = this.#inboxes.find((each) => inbox.startsWith(each)) ?? "";
    const end = inbox.indexOf(".", prefix.length);
    return end === -1 ? inbox : inbox.slice(0, end);
  }
}

/** Throws if subjects other than inboxes are under the prefix. */
function requirePrefix(prefix: string, own: string): void {
  const isSubject = typeof prefix === "string" && /^[^\s.*>$][^\s.*>]*(\.[^\s.*>]+)*$/.test(prefix);
  const isOurs = `${prefix}.`.startsWith(workersPrefix) || `${prefix}.`.startsWith(`${own}.`);
  if (isSubject && !isOurs) return;
  throw new TypeError(
    `an inbox prefix must be a subject without wildcards that does not begin with $, ${workersPrefix} or ${own}., not "${prefix}"`,
  );
}

/** Returns a function that logs refused messages. */
export function refusedReplies(log: Log, clock: Clock, worker: string): (message: Msg) => void {
  const sentence = "refused a message: its reply subject is not under an inbox prefix";
  const warning = new RareWarning(log, clock, sentence);
  const shown = (text: string): string => text.slice(0, longestLogged);
  return ({ subject, reply = "" }) =>
    warning.warn({ worker, subject: shown(subject), reply: shown(reply) });
}
