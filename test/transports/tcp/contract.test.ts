import { contentLengthFraming, lengthPrefixFraming } from "callwire/framing";
import { isFull } from "../../full.ts";
import { describeTransport, serving } from "../contract.ts";
import { tcpFront, unixFront } from "./front.ts";

describeTransport("TCP with lines", serving(tcpFront()));

// Their frames alone differ, and test/framing tries those.
const extent = { transcripts: false };

// The only sockets with bytes beside messages.
describeTransport("TCP with a length in front", serving(tcpFront(lengthPrefixFraming)), extent);

if (isFull) {
  describeTransport("TCP with Content-Length", serving(tcpFront(contentLengthFraming)), extent);
  describeTransport("a unix socket", serving(unixFront), extent);
}
