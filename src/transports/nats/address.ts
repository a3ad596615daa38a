import { randomBytes } from "node:crypto";
import { createInbox, type NatsConnection } from "./client-library.ts";
import { inboxPrefixOf, isFromAnotherAccount } from "./reply-subjects.ts";

/** What stands at the end of every mailbox's address, so that others know that it has a doorbell. */
const mark = ".cw";

/** The address of a mailbox; a reply subject is one more word behind it. */
export function marked(base: string): string {
  return base + mark;
}

/** Where whoever is there hears that it is asked for. */
export function doorbellOf(address: string): string {
  return `${address}.0`;
}

/**
 * Who stands behind a reply subject: the mailbox, or what NATS's own clients have in common to all
 * subjects of one connection. A subject without such a part stands for itself.
 */
export function senderOf(reply: string): string {
  if (isFromAnotherAccount(reply)) return reply;
  const common = reply.slice(0, Math.max(0, reply.lastIndexOf(".")));
  return common.includes(".") ? common : reply;
}

/** Whether a sender is a mailbox, which can be asked whether it is there. */
export function isMailbox(sender: string): boolean {
  return sender.endsWith(mark);
}

/**
 * A subject of its own for whoever uses a connection, below the prefix that its user may subscribe to. NATS's client counts on from
 * one to the next, so that whoever is called over one link of a process could guess the others, and answer there.
 */
export function inboxOf(connection: NatsConnection): string {
  const counted = createInbox(inboxPrefixOf(connection));
  return counted.slice(0, counted.lastIndexOf(".") + 1) + randomBytes(16).toString("base64url");
}
