import { randomBytes } from "node:crypto";
import type { ErrorObject } from "../../protocol/message.ts";
import { invalidRequest } from "../../protocol/standard-errors.ts";
import { copyString } from "../../protocol/string-copy.ts";
import { createInbox, type NatsConnection } from "./client-library.ts";
import { requireSubject } from "./options.ts";

/** Longer method names are not routed by name: NATS limits subjects to 4 KiB. */
const longestName = 200;
const mostCached = 10_000;
/** Prefix of the subjects of all workers. */
export const workersPrefix = "_CALLWIRE.";

/** The answer to a call that arrives at the subject of another method; otherwise permissions on subjects could be bypassed. */
export const wrongSubject: ErrorObject = invalidRequest("this is called at another subject");

/** The subjects of one service. NATS routes by them, and permissions are granted on them. */
export class Subjects {
  readonly base: string;
  /** Batches; any worker answers them as a whole. */
  readonly batch: string;
  /** Calls that no worker has subscribed to, to be answered with "method not found". */
  readonly any: string;
  /** Served by workers that are closing, for calls that no other worker takes. */
  readonly leaving: string;
  /** Every worker receives what is sent here. It is outside `base.>`, so that subscribers of that do not. */
  readonly workers: string;
  readonly #cache = new Map<string, string>();

  constructor(base: string) {
    requireSubject(base);
    this.base = base;
    this.batch = `${base}.$batch`;
    this.any = `${base}.$any`;
    this.leaving = `${base}.$leaving`;
    this.workers = `${workersPrefix}${base}.workers`;
  }

  worker(id: string): string {
    return `${workersPrefix}${this.base}.${id}`;
  }

  /** `math/add` and `math.add` are called at `base.math.add`; other characters are percent-encoded. */
  of(method: string): string {
    // Not cached either: a caller could fill the memory with long names.
    if (method.length > longestName) return this.any;
    const cached = this.#cache.get(method);
    if (cached !== undefined) return cached;
    const subject = this.#encode(method);
    if (this.#cache.size >= mostCached) this.#cache.clear();
    this.#cache.set(copyString(method), copyString(subject));
    return subject;
  }

  #encode(method: string): string {
    try {
      return `${this.base}.${method.split(/[/.]/).map(encodeToken).join(".")}`;
    } catch {
      // Half of a surrogate pair cannot be encoded in UTF-8.
      return this.any;
    }
  }
}

function encodeToken(part: string): string {
  if (part === "") return "%";
  return encodeURIComponent(part).replace(
    /[!'()*~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Ends the address of every mailbox, so that a peer knows that it answers probes. */
const mailboxSuffix = ".cw";

/** The address of a mailbox; its subjects are the address and one more token. */
export function mailboxAddress(base: string): string {
  return base + mailboxSuffix;
}

export function isMailbox(address: string): boolean {
  return address.endsWith(mailboxSuffix);
}

/** The subject of a mailbox for what is not about one of its calls, such as probes. */
export function controlSubjectOf(address: string): string {
  return `${address}.0`;
}

/** What nats-server writes instead of a reply subject from another account. */
export const otherAccountPrefix = "_R_.";

export function isFromAnotherAccount(reply: string): boolean {
  return reply.startsWith(otherAccountPrefix);
}

/**
 * The sender behind a reply subject: a mailbox, or the part that all reply subjects of one of NATS's own clients share. A subject without
 * such a part is a sender of its own.
 */
export function senderOf(reply: string): string {
  if (isFromAnotherAccount(reply)) return reply;
  const shared = reply.slice(0, Math.max(0, reply.lastIndexOf(".")));
  return shared.includes(".") ? shared : reply;
}

/** Default prefix of the inboxes of NATS's clients. */
export const defaultInboxPrefix = "_INBOX";

export function inboxPrefixOf(connection: NatsConnection): string {
  const { inboxPrefix } = (connection as { options?: { inboxPrefix?: string } }).options ?? {};
  return inboxPrefix || defaultInboxPrefix;
}

/** A new inbox under the prefix of a connection. NATS's client counts upwards, so a callee could guess the inboxes of other links. */
export function newInbox(connection: NatsConnection): string {
  const counted = createInbox(inboxPrefixOf(connection));
  return counted.slice(0, counted.lastIndexOf(".") + 1) + randomBytes(16).toString("base64url");
}
