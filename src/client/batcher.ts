import { type Clock, systemClock } from "../protocol/clock.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import type { Reply, Request } from "../protocol/message.ts";

export interface BatchingOptions {
  /** How long calls are gathered; 0 gathers those of one turn of the event loop. @default 0 */
  readonly windowMs?: number;
  /** Most calls in a batch; a server refuses longer ones. @default 100 */
  readonly max?: number;
  readonly clock?: Clock;
}

interface Waiting {
  readonly request: Request;
  readonly outgoing: Outgoing;
  readonly resolve: (reply: Promise<Reply | undefined>) => void;
}

/** Sends the calls that are made close together as one payload. */
export function batching(link: Link, options: BatchingOptions = {}): Link {
  const { windowMs = 0, max = 100, clock = systemClock } = options;
  let waiting: Waiting[] = [];

  const flush = (): void => {
    const gathered = waiting;
    waiting = [];
    // A full batch was sent early, and this is the window that it had opened.
    if (gathered.length === 0) return;
    const [first] = gathered;
    if (gathered.length === 1 && first !== undefined) {
      first.resolve(link.send(first.request, first.outgoing));
      return;
    }
    const replies = link.sendBatch(
      gathered.map((entry) => entry.request),
      gathered.map((entry) => entry.outgoing),
    );
    gathered.forEach((entry, i) => {
      entry.resolve(replies[i] as Promise<Reply | undefined>);
    });
  };

  return {
    send(request, outgoing) {
      return new Promise((resolve) => {
        waiting.push({ request, outgoing, resolve });
        if (waiting.length >= max) flush();
        else if (waiting.length === 1) {
          if (windowMs === 0) queueMicrotask(flush);
          else clock.after(windowMs, flush);
        }
      });
    },
    sendBatch: (requests, outgoing) => link.sendBatch(requests, outgoing),
    close() {
      flush();
      return link.close();
    },
  };
}
