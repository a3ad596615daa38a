/**
 * What the pages about behaviour promise: each line with "never", "always", "every" or "at most", by some words of it,
 * and the test that enforces it or the reason why it promises nothing.
 */
export interface Guarantee {
  readonly says: string;
  /** A file below test/, and the title of a test in it. */
  readonly test?: readonly [file: string, title: string];
  /** Why no test can enforce it. */
  readonly because?: string;
}

const advice = "advice to readers";
const purpose = "names what a limit is against";
const interval = "an interval";
const name = "a name";
const option = "the meaning of an option";

export const guarantees: Readonly<Record<string, readonly Guarantee[]>> = {
  "errors.md": [
    { says: "it was never sent", because: "says where a class of errors comes from" },
    {
      says: "a batch in which every call failed with that error",
      test: ["transports/http/status.test.ts", "has the status of its calls"],
    },
    { says: "sentences for people and may change; never", because: advice },
    {
      says: "| did not run  |",
      test: ["protocol/retry-rule.test.ts", "a call that may have run is not reported"],
    },
    {
      says: "| final        |",
      test: ["protocol/retry-rule.test.ts", "whatever else was thrown, is final"],
    },
  ],
  "streaming.md": [
    {
      says: "but for at most 64 at a time",
      test: ["connection/uploads.test.ts", "take no item before there is credit for it"],
    },
    {
      says: "A reader that never sends credit",
      test: [
        "regressions/readers-that-give-no-credit.test.ts",
        "a reader that never sends credit gets items of any length",
      ],
    },
  ],
  "wires.md": [
    {
      says: "served on every wire",
      test: ["transports/contract/calls.ts", "many calls in flight are paired with their answers"],
    },
    { says: "examples/every-wire", because: name },
    {
      says: "a batch in which every call fails",
      test: ["transports/http/status.test.ts", "has the status of its calls"],
    },
    {
      says: "at most four bodies at a time",
      test: ["transports/http/codings-at-a-time.test.ts", "at most four bodies are inflated"],
    },
    {
      says: "compressed in another thread, at most four",
      test: [
        "transports/http/codings-at-a-time.test.ts",
        "at most four long replies are compressed",
      ],
    },
    {
      says: "at most once a minute",
      test: ["regressions/hosts-refused-in-silence.test.ts", "is logged, at most once a minute"],
    },
    {
      says: "answer under every name",
      test: ["transports/http/serve.test.ts", "a running server is healthy for every client"],
    },
    {
      says: "own origin may always call",
      test: ["transports/http/access.test.ts", "a page of the server's own origin is answered"],
    },
    {
      says: "`sseLink` always asks",
      test: ["transports/sse/link.test.ts", "every call accepts events"],
    },
    {
      says: "keep-alive every 15 seconds",
      test: ["transports/http/events.test.ts", "a silent stream shows that it is alive"],
    },
    {
      says: "Every link except that of memory takes a `tap`",
      test: ["protocol/tap.test.ts", "sees messages in both directions, in order"],
    },
  ],
  "nats-durable.md": [
    { says: "as on every transport", because: "compares with plain notifications" },
    {
      says: "at most 1,024",
      test: ["transports/nats/partitions.test.ts", "has at most 1,024 partitions"],
    },
    {
      says: "ten minutes at most",
      test: ["transports/nats/jetstream-overtime.test.ts", "wait no longer than ten minutes"],
    },
    {
      says: "gives a sign every two seconds",
      test: [
        "transports/nats/jetstream-delivery.test.ts",
        "signal often that they are in progress",
      ],
    },
  ],
  "limits.md": [
    { says: "handlers that never end", because: purpose },
    { says: "a shutdown that never ends", because: purpose },
    { says: "that never end      |", because: purpose },
    { says: "calls that never end", because: purpose },
    {
      says: "may use at most",
      test: ["server/shares.test.ts", "an address gets two thirds of the calls"],
    },
    {
      says: "is never refused for its share",
      test: ["server/shares.test.ts", "if few calls may run, one address may have all"],
    },
    {
      says: "until some of them end, at most 5 s",
      test: [
        "connection/held-memory.test.ts",
        "is read after a while, so that its peer can cancel",
      ],
    },
    {
      says: "A single call always runs",
      test: ["connection/held-memory.test.ts", "may be as large as a message may be"],
    },
    {
      says: "It never refuses notifications",
      test: ["protocol/overload.test.ts", "runs notifications, whose senders would not notice"],
    },
    { says: "accepts every call", test: ["protocol/overload.test.ts", "takes all calls with"] },
    { says: "idle connections that are never closed", because: purpose },
    { says: "a message that never ends", because: purpose },
    { says: "At most 100", test: ["transports/tcp/crowds.test.ts", "while 100 others are"] },
    { says: "a ping every 30 s", because: interval },
    { says: "listen and never send", because: option },
    {
      says: "a pong that does not answer a ping never is",
      test: ["transports/ws/hostile-peers.test.ts", "ignores a pong that does not answer its ping"],
    },
    {
      says: "with at most 64 KiB of pings and pongs",
      test: ["transports/ws/hostile-peers.test.ts", "closes with 1008 for pongs between"],
    },
  ],
  "work.md": [
    {
      says: "every process of a",
      test: [
        "a2a/peers/killed-server.test.ts",
        "where others answer for them, and end them in time",
      ],
    },
    { says: "renews a lease every ten seconds", because: interval },
  ],
};
