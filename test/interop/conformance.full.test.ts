import type { ConformanceResult } from "callwire/testing";
import { expect, test } from "vitest";
import { peerResults, peers } from "../../scripts/conformance-peers.mjs";
import { describeWith } from "../services.ts";

// The kit finds the known faults of these libraries, each for its own reason.

type Fault = NonNullable<ConformanceResult["fault"]>;

const known: Readonly<Record<string, Readonly<Record<string, Fault>>>> = {
  jayson: {
    // The text of an exception instead of JSON-RPC.
    "core/parse-error": "wrong",
    "ids/beyond-double": "wrong",
    // Null is treated as no id.
    "ids/null": "wrong",
    "batch/falsy-ids": "wrong",
    // A call that hangs forever.
    "batch/empty-array": "silent",
    "batch/nested": "silent",
    "limits/oversize": "wrong",
    "http/huge-length": "silent",
    // A form of another site could make calls.
    "security/text-plain-disguised": "wrong",
  },
  "jayson-tcp": {
    "ids/null": "silent",
    "batch/empty-array": "silent",
    // After text that is not JSON nothing more is read.
    "framing/junk-line": "hung-up",
  },
  "json-rpc-2.0": {
    "ids/beyond-double": "wrong",
    "ids/object": "wrong",
    "batch/one-call": "wrong",
    "batch/null": "dead",
    // One bad entry.
    "batch/mixed": "dead",
    // The code 0, and the message of the exception.
    "errors/failure-code": "wrong",
    "errors/failure-text": "wrong",
  },
  "rpc-websockets": {
    "core/notification-unknown": "wrong",
    "ids/zero": "wrong",
    "ids/empty-string": "wrong",
    "ids/beyond-double": "wrong",
    "batch/falsy-ids": "wrong",
    "batch/notifications": "wrong",
    "errors/failure-text": "wrong",
    "limits/oversize": "wrong",
    // Looked up on a plain object.
    "security/inherited-names": "wrong",
    "security/foreign-socket": "wrong",
  },
  "open-rpc": {
    "core/notification": "wrong",
    "core/parse-error": "wrong",
    "ids/beyond-double": "wrong",
    // Omitted params crash the process, and so does null in a batch.
    "params/omitted-known": "dead",
    "batch/null": "dead",
    "versions/missing": "wrong",
    // 6969.
    "errors/failure-code": "wrong",
  },
};

/** Cases that all of them pass. */
const right = ["core/call", "core/result", "ids/string", "params/by-name", "batch/calls"];

describeWith(["npm peers"], "the conformance kit", () => {
  // Concurrently, since most of the time is waiting for servers that do not answer.
  test.concurrent.each(peers.map(({ name }) => name))(
    "fails %s for what it does wrong",
    async (name) => {
      const cases = [...Object.keys(known[name] ?? {}), ...right];
      const results = await peerResults(name, { timeoutMs: 3_000, cases });
      const faults = Object.fromEntries(
        results.flatMap(({ case: { id }, fault }) => (fault === undefined ? [] : [[id, fault]])),
      );
      expect(faults).toEqual(known[name]);
      const passed = results.flatMap(({ case: { id }, outcome }) =>
        outcome === "passed" ? [id] : [],
      );
      expect(passed.sort()).toEqual([...right].sort());
    },
    // Servers that do not answer take much of it, on an idle machine too.
    180_000,
  );

  test("finds the known faults of each of them", () => {
    expect(Object.keys(known).sort()).toEqual(peers.map(({ name }) => name).sort());
  });
});
