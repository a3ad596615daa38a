import type { Log } from "../../protocol/log.ts";
import type { Msg, NatsConnection } from "./client-library.ts";
import { ofWorkers, type Subjects } from "./subjects.ts";

/** What the inboxes of NATS's clients begin with unless they are told otherwise. */
const usualPrefix = "_INBOX";
/** What nats-server writes in place of a reply subject from another account, which does not show whose; it takes none from a client. */
const fromAnotherAccount = "_R_.";
/** Next to a longer one a worker's own address would not fit, and nats-server would close the connection for it. */
const longestReply = 1_000;

export function isFromAnotherAccount(reply: string): boolean {
  return reply.startsWith(fromAnotherAccount);
}

/** The prefix that the inboxes of a connection begin with. */
export function inboxPrefixOf(connection: NatsConnection): string {
  const { inboxPrefix } = (connection as { options?: { inboxPrefix?: string } }).options ?? {};
  return inboxPrefix || usualPrefix;
}

/**
 * Decides where a message may be answered. nats-server does not check the reply subject that a client writes, so without this
 * whoever may call one method could have the worker publish to any subject that the worker may publish to.
 */
export class ReplySubjects {
  readonly #accepted: readonly string[];
  readonly #own: string;

  private constructor(own: string, prefixes: readonly string[], more: readonly string[]) {
    this.#own = `${own}.`;
    for (const prefix of prefixes) requirePrefix(prefix, own);
    const inboxes = [...new Set([usualPrefix, ...prefixes])].map((prefix) => `${prefix}.`);
    this.#accepted = [...inboxes, fromAnotherAccount, ...more];
  }

  /** A worker answers at the inboxes of its callers. */
  static ofWorker(
    connection: NatsConnection,
    { base }: Subjects,
    inboxPrefixes: readonly string[] = [],
  ): ReplySubjects {
    return new ReplySubjects(base, [inboxPrefixOf(connection), ...inboxPrefixes], []);
  }

  /** A link also answers its workers, at their own addresses. */
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

/** Refuses a prefix under which there are other subjects than inboxes. */
function requirePrefix(prefix: string, own: string): void {
  const isSubject = typeof prefix === "string" && /^[^\s.*>$][^\s.*>]*(\.[^\s.*>]+)*$/.test(prefix);
  const isOurs = `${prefix}.`.startsWith(ofWorkers) || `${prefix}.`.startsWith(`${own}.`);
  if (isSubject && !isOurs) return;
  throw new TypeError(
    `an inbox prefix must be a subject without wildcards, and not begin with $, ${ofWorkers} or ${own}., unlike "${prefix}"`,
  );
}

/** Writes refused messages to the log: the 1st, 10th, 100th and so on, so that nobody can fill the disk with them. */
export class RefusedReplies {
  readonly #log: Log;
  readonly #subject: string;
  #count = 0;
  #next = 1;

  constructor(log: Log, subject: string) {
    this.#log = log;
    this.#subject = subject;
  }

  add({ subject, reply = "" }: Msg): void {
    if (++this.#count < this.#next) return;
    this.#next *= 10;
    const fields = {
      worker: this.#subject,
      subject: subject.slice(0, longestShown),
      reply: reply.slice(0, longestShown),
      refused: this.#count,
    };
    this.#log.warn(fields, "refused a message: its reply subject is not under an inbox prefix");
  }
}

const longestShown = 200;
