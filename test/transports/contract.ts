/**
 * What every wire has to do. A transport tells how a service is served on it and reached, in some
 * twenty lines, and gets all of these tests, alone and with a gateway on it:
 *
 *     const tcp: Front = {
 *       async serve(service) {
 *         const socket = await serveSocket(service, { port: 0 });
 *         return {
 *           async connect(service) {
 *             const proxy = await startProxy({ port: socket.port });
 *             const link = tcpLink({ port: proxy.port, service });
 *             return { link, kill: () => proxy.cut() };
 *           },
 *           raw: () => rawStream(connect(socket.port), newlineFraming),
 *           close: () => service.close(),
 *           kill() { … },
 *         };
 *       },
 *     };
 *     describeTransport("TCP", serving(tcp));
 */
import { describe } from "vitest";
import { isFull } from "../full.ts";
import { testBytes } from "./contract/bytes.ts";
import { testCalls } from "./contract/calls.ts";
import { testControl } from "./contract/control.ts";
import { testEndings } from "./contract/endings.ts";
import { testFaults } from "./contract/faults.ts";
import { testStreams } from "./contract/streams.ts";
import { testTranscripts } from "./contract/transcripts.ts";
import { testUploads } from "./contract/uploads.ts";
import { testValues } from "./contract/values.ts";
import type { Wire } from "./contract/wire.ts";

export { Inbox } from "./contract/inbox.ts";
export { Proxies, startProxy } from "./contract/proxy.ts";
export { rawStream } from "./contract/raw-stream.ts";
export {
  blankLine,
  type Front,
  type Host,
  serving,
  type Wire,
} from "./contract/wire.ts";
export { serverOf } from "./contract-methods.ts";

/** Which parts of the contract a wire keeps in each run; the full run has them all. */
export interface Extent {
  /**
   * False if only the frames, or what is on the other side of a gateway, differ from another wire
   * that has them. @default true
   */
  readonly transcripts?: boolean;
  /** False if the wire on which garbage arrives is tested elsewhere. @default true */
  readonly faults?: boolean;
}

export function describeTransport(
  name: string,
  wire: Wire,
  { transcripts = true, faults = true }: Extent = {},
): void {
  describe(`${name} keeps the contract of a wire`, () => {
    if (transcripts || isFull) testTranscripts(wire);
    testCalls(wire);
    testValues(wire);
    testBytes(wire);
    testStreams(wire);
    testUploads(wire);
    testControl(wire);
    if (faults || isFull) testFaults(wire);
    testEndings(wire);
  });
}
