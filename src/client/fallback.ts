import { isExactly, shuttingDown, WireError } from "../protocol/errors.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import type { Reply, Request } from "../protocol/message.ts";
import { didNotRun, isPassing } from "./retry.ts";

interface Entry {
  readonly request: Request;
  readonly outgoing: Outgoing;
}

/**
 * Tries the next link when one cannot connect, or when its server is stopping and has not taken the call; where one is
 * stopping, the others once more. A call that may have run is not sent again, unless it is idempotent.
 * @example
 * ```ts
 * import { createClient, fallback } from "callwire";
 * import { httpLink } from "callwire/http";
 *
 * const link = fallback([
 *   httpLink("https://eu.example.com/rpc"),
 *   httpLink("https://us.example.com/rpc"),
 * ]);
 * await createClient<typeof methods>(link).api.echo("hi");
 * ```
 */
export function fallback(links: readonly Link[]): Link {
  if (links.length === 0) throw new TypeError("fallback needs at least one link");
  /** The link that worked last is tried first. */
  let preferred = links[0] as Link;

  function inOrder(): Link[] {
    const first = links.indexOf(preferred);
    return [...links.slice(first), ...links.slice(0, first)];
  }

  /** Where a server stops, they may be restarted one after the other: who was away before the last may be back. */
  function goRound(order: Link[], error: unknown): void {
    const isFirst = order.length === links.length;
    if (error instanceof Refusal && isFirst) order.push(...order.slice(0, -1));
  }

  /** Sends a batch over one of these links, and what that could not send over the next ones. */
  function sendAll(
    order: Link[],
    entries: readonly Entry[],
    turn = 0,
  ): Promise<Reply | undefined>[] {
    const link = order[turn];
    if (link === undefined || entries.length === 0) return [];
    for (const { outgoing } of entries) outgoing.goesElsewhere = links.length > 1;
    const replies = link.sendBatch(
      entries.map(({ request }) => request),
      entries.map(({ outgoing }) => outgoing),
    );
    const tried = replies.map(async (answer, i) => {
      try {
        const reply = taken(await answer, (entries[i] as Entry).outgoing);
        preferred = link;
        return reply;
      } catch (error) {
        goRound(order, error);
        throw error;
      }
    });
    const again = Promise.allSettled(tried).then((outcomes) => {
      const isLast = turn + 1 === order.length;
      const left = entries.filter(({ outgoing }, i) => {
        const outcome = outcomes[i];
        if (isLast || outcome?.status !== "rejected") return false;
        if (!maySendAgain(outcome.reason, outgoing)) return false;
        if (!didNotRun(outcome.reason)) outgoing.gap();
        // Its caller may give it up for that.
        return !outgoing.failed;
      });
      const answers = sendAll(order, left, turn + 1);
      return new Map(left.map((entry, i) => [entry, answers[i]]));
    });
    return entries.map(async (entry, i) => {
      try {
        return await tried[i];
      } catch (error) {
        const answer = maySendAgain(error, entry.outgoing) ? (await again).get(entry) : undefined;
        if (answer === undefined) throw error;
        return answer.catch((next: unknown) => {
          throw graver(error, next);
        });
      }
    });
  }

  return {
    async send(request, outgoing) {
      const order = inOrder();
      let failed: unknown;
      let isGap = false;
      for (const link of order) {
        if (isGap) outgoing.gap();
        // Its caller may give it up for that.
        if (outgoing.failed) break;
        outgoing.goesElsewhere = links.length > 1;
        try {
          const reply = taken(await link.send(request, outgoing), outgoing);
          preferred = link;
          return reply;
        } catch (error) {
          failed = graver(failed, error);
          if (!maySendAgain(error, outgoing)) break;
          isGap = !didNotRun(error);
          goRound(order, error);
        }
      }
      return said(failed);
    },
    sendBatch: (requests, outgoing) =>
      sendAll(
        inOrder(),
        requests.map((request, i) => ({ request, outgoing: outgoing[i] as Outgoing })),
      ).map((reply) => reply.catch(said)),
    async close() {
      await Promise.all(links.map((link) => link.close()));
    },
  };
}

/** The answer of a server that stops: it has not taken the call, or has ended it. */
class Refusal extends WireError {
  readonly reply: Reply;

  constructor(reply: Reply, hasRun: boolean) {
    super(hasRun ? "CONNECTION_LOST" : "CONNECTION_FAILED", shuttingDown.message);
    this.reply = reply;
  }
}

function taken(reply: Reply | undefined, { idempotent }: Outgoing): Reply | undefined {
  if (reply?.error?.code !== shuttingDown.code) return reply;
  const hasRun = !isExactly(reply.error, shuttingDown);
  if (hasRun && !idempotent) return reply;
  throw new Refusal(reply, hasRun);
}

/** What the caller hears when no link is left. */
function said(error: unknown): Reply {
  if (error instanceof Refusal) return error.reply;
  throw error;
}

/** A call that was lost may have run, whatever kept the next link from sending it. */
function graver(first: unknown, next: unknown): unknown {
  return first !== undefined && !didNotRun(first) && didNotRun(next) ? first : next;
}

function maySendAgain(error: unknown, { idempotent, failed }: Outgoing): boolean {
  return !failed && (didNotRun(error) || (idempotent && isPassing(error)));
}
