import { type Exchange, type ExchangeLinkOptions, exchangeLink } from "../../protocol/exchange.ts";
import type { Link, Outgoing } from "../../protocol/link.ts";
import type { OpenCalls } from "./open-calls.ts";

/**
 * A link on which the other end hears of each call of a batch that is given up: the replies come
 * together, so the others would wait for one that nobody wants.
 */
export function batchLink(
  calls: OpenCalls,
  exchange: Exchange,
  options?: ExchangeLinkOptions,
): Link {
  const link = exchangeLink(exchange, options);
  return {
    send: (request, outgoing) => link.send(request, outgoing),
    sendBatch(requests, outgoing) {
      const replies = link.sendBatch(requests, outgoing);
      outgoing.forEach((each, i) => {
        const { cancel } = each;
        if (cancel === undefined) return;
        const leave: Outgoing["cancel"] = (error) => {
          cancel(error);
          calls.leave(requests, requests[i]?.id);
        };
        each.cancel = leave;
      });
      return replies;
    },
    close: () => link.close(),
  };
}
