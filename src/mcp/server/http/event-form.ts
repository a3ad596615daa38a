import { type EventForm, messages } from "../../../http/event-peer.ts";
import { atLeast, type Revision } from "../../revisions.ts";

const primed: EventForm = { ...messages, primes: true };

/** Since 2025-11-25 a stream begins with an empty event; older clients would stumble over it. */
export function eventForm(revision: Revision | undefined): EventForm {
  return revision !== undefined && atLeast(revision, "2025-11-25") ? primed : messages;
}
