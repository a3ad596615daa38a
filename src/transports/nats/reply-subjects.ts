import type { Log } from "../../protocol/log.ts";
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
 * Decides where a message may be answered. nats-server does not check the reply subject that a client writes, so without this check a
 * caller of one method could make the worker publish to any subject that the worker may publish to.
 */
export class ReplySubjects {
  readonly #accepted: readonly string[];
  readonly #own: string;

  private constructor(own: string, prefixes: readonly string[], more: readonly string[]) {
    this.#own = `${own}.`;
    for (const prefix of prefixes) requirePrefix(prefix, own);
    const inboxes = [...new Set([defaultInboxPrefix, ...prefixes])].map((prefix) => `${prefix}.`);
    this.#accepted = [...inboxes, otherAccountPrefix, ...more];
  }

  /** A worker replies to the inboxes of its callers. */
  static ofWorker(
    connection: NatsConnection,
    { base }: Subjects,
    inboxPrefixes: readonly string[] = [],
  ): ReplySubjects {
    return new ReplySubjects(base, [inboxPrefixOf(connection), ...inboxPrefixes], []);
  }

  /** A link also replies to its workers, at their own addresses. */
  static ofLink(connection: NatsConnection, subjects: Subjects): ReplySubjects {
    return new ReplySubjects(subjects.base, [inboxPrefixOf(connection)], [subjects.worker("")]);
  }

  accepts(reply: string): boolean {
    if (reply.length > longestReply || reply.startsWith(this.#own)) return false;
    if (reply.includes("*") || reply.includes(">")) return false;
    for (const prefix of this.#accepted) if (reply.startsWith(prefix)) return true;
    return false;
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

/** Returns a function that logs refused messages: the 1st, 10th, 100th and so on, so that a caller cannot fill the disk. */
export function refusedReplies(log: Log, worker: string): (message: Msg) => void {
  let refused = 0;
  let next = 1;
  return ({ subject, reply = "" }) => {
    if (++refused < next) return;
    next *= 10;
    const shown = {
      subject: subject.slice(0, longestLogged),
      reply: reply.slice(0, longestLogged),
    };
    const message = "refused a message: its reply subject is not under an inbox prefix";
    log.warn({ worker, ...shown, refused }, message);
  };
}
