import { WireError } from "../protocol/errors.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import type { Reply, Request } from "../protocol/message.ts";
import {
  isStopping,
  maySendAgain,
  outcomeOf,
  replyAfter,
  worseOf,
} from "../protocol/retry-rule.ts";

interface Entry {
  readonly request: Request;
  readonly outgoing: Outgoing;
}

/**
 * A link that sends a call over the next link if one cannot connect, or if its server is busy or stopping. If a server
 * is stopping, the links before it are tried once more. A call that may have run is only sent again if it is idempotent.
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

  /** Servers are often restarted one after the other, so one that was down may be back. */
  function goRound(order: Link[], error: unknown): void {
    const isFirst = order.length === links.length;
    if (error instanceof Refusal && isStopping(error.reply.error) && isFirst)
      order.push(...order.slice(0, -1));
  }

  /** Sends a batch over one of these links, and the calls that failed there over the next ones. */
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
        if (!mayGoOn(outcome.reason, outgoing)) return false;
        if (outcomeOf(outcome.reason) === "may-have-run") outgoing.gap();
        // The caller may cancel when the gap is reported.
        return !outgoing.failed;
      });
      const answers = sendAll(order, left, turn + 1);
      return new Map(left.map((entry, i) => [entry, answers[i]]));
    });
    return entries.map(async (entry, i) => {
      try {
        return await tried[i];
      } catch (error) {
        const answer = mayGoOn(error, entry.outgoing) ? (await again).get(entry) : undefined;
        if (answer === undefined) throw error;
        const reply = await answer.catch((next: unknown) => {
          throw worseOf(error, next);
        });
        return replyAfter(outcomeOf(error) === "may-have-run", reply);
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
        // The caller may cancel when the gap is reported.
        if (outgoing.failed) break;
        outgoing.goesElsewhere = links.length > 1;
        try {
          const reply = taken(await link.send(request, outgoing), outgoing);
          preferred = link;
          return replyAfter(outcomeOf(failed) === "may-have-run", reply);
        } catch (error) {
          failed = worseOf(failed, error);
          if (!mayGoOn(error, outgoing)) break;
          isGap = outcomeOf(error) === "may-have-run";
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
    carriesBytes: links.every((link) => link.carriesBytes === true),
    async close() {
      await Promise.all(links.map((link) => link.close()));
    },
  };
}

/** A reply that lets the call go to the next link. */
class Refusal extends WireError {
  readonly reply: Reply;

  constructor(reply: Reply, code: "CONNECTION_LOST" | "CONNECTION_FAILED", message: string) {
    super(code, message);
    this.reply = reply;
  }
}

function taken(reply: Reply | undefined, outgoing: Outgoing): Reply | undefined {
  if (reply?.error === undefined) return reply;
  const outcome = outcomeOf(reply.error);
  if (!maySendAgain(outcome, outgoing)) return reply;
  const code = outcome === "did-not-run" ? "CONNECTION_FAILED" : "CONNECTION_LOST";
  throw new Refusal(reply, code, reply.error.message);
}

/** The result for the caller when no link is left. */
function said(error: unknown): Reply {
  if (error instanceof Refusal) return error.reply;
  throw error;
}

function mayGoOn(error: unknown, outgoing: Outgoing): boolean {
  return !outgoing.failed && maySendAgain(outcomeOf(error), outgoing);
}
