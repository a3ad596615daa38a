import { contentLengthFraming } from "callwire/framing";
import { isFull } from "../../full.ts";
import { bundle } from "../bundle.ts";
import { describeTransport } from "../contract.ts";
import { stdioWire } from "./wire.ts";

const program = bundle(new URL("./fixtures/contract-server.ts", import.meta.url));

describeTransport("stdio with lines", stdioWire(program));

// Only the frames differ, and test/framing tries those.
if (isFull) {
  const extent = { transcripts: false, faults: false };
  describeTransport("stdio with Content-Length", stdioWire(program, contentLengthFraming), extent);
}
