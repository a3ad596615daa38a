import type { Link } from "callwire";

/** A link that tells when an item of a stream comes for a call that nobody iterates over. */
export function noticingItems(link: Link, notice: () => void): Link {
  return {
    send(request, outgoing) {
      outgoing.item = () => {
        notice();
        return undefined;
      };
      return link.send(request, outgoing);
    },
    sendBatch: (requests, outgoing) => link.sendBatch(requests, outgoing),
    close: () => link.close(),
  };
}
