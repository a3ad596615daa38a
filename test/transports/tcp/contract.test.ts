import { contentLengthFraming, lengthPrefixFraming } from "callwire/framing";
import { describeTransport, serving } from "../contract.ts";
import { tcpFront, unixFront } from "./front.ts";

describeTransport("TCP with lines", serving(tcpFront()));

describeTransport("TCP with Content-Length", serving(tcpFront(contentLengthFraming)));

describeTransport("TCP with a length in front", serving(tcpFront(lengthPrefixFraming)));

describeTransport("a unix socket", serving(unixFront));
