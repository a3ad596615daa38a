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
 * Returns a function that decides where a message may be answered: at the inboxes of callers, and for a link also at the addresses of its
 * workers. nats-server does not check the reply subject that a client writes, so without this check a caller of one method could make the
 * worker publish to any subject that the worker may publish to.
 */
export function acceptedReplies(
  connection: NatsConnection,
  { base }: Subjects,
  inboxPrefixes: readonly string[] = [],
  addresses: readonly string[] = [],
): (reply: string) => boolean {
  const prefixes = [inboxPrefixOf(connection), ...inboxPrefixes];
  for (const prefix of prefixes) requirePrefix(prefix, base);
  const inboxes = [...new Set([defaultInboxPrefix, ...prefixes])].map((prefix) => `${prefix}.`);
  const accepted = [...inboxes, otherAccountPrefix, ...addresses];
  const own = `${base}.`;
  return (reply) => {
    if (reply.length > longestReply || reply.startsWith(own)) return false;
    if (reply.includes("*") || reply.includes(">")) return false;
    for (const prefix of accepted) if (reply.startsWith(prefix)) return true;
    return false;
  };
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
