import { httpLink } from "callwire/http";
import { httpLink as fetchLink } from "../../../src/transports/http/fetch-link.ts";
import { isFull } from "../../full.ts";
import { describeTransport, serving } from "../contract.ts";
import { httpFront } from "./front.ts";

describeTransport("HTTP", serving(httpFront()));

// The server is the same, and garbage does not come from a link.
const extent = { transcripts: false, faults: false };
describeTransport("HTTP with fetch", serving(httpFront(fetchLink)), extent);

describeTransport("HTTP read by Node", serving(httpFront(httpLink, { fastPath: false })));

if (isFull) {
  const compressing = httpFront((url) => httpLink(url, { compress: true }));
  describeTransport("HTTP, compressed", serving(compressing));
}
