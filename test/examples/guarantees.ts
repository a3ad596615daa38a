/**
 * The promises of the pages about behaviour: each "never", "always", "every" and "at most", quoted
 * with some words around it, and the test that enforces it or the reason why it promises nothing.
 */
export interface Guarantee {
  readonly says: string;
  /** A file below test/, and the title of a test in it. */
  readonly test?: readonly [file: string, title: string];
  /** Why no test can enforce it. */
  readonly because?: string;
}

const advice = "advice to readers";
const interval = "an interval";
const name = "a name";
const option = "the meaning of an option";
const about = "describes what there is, and promises nothing";

export const guarantees: Readonly<Record<string, readonly Guarantee[]>> = {
  "errors.md": [
    { says: "it was never sent", because: "says where a class of errors comes from" },
    {
      says: "a batch in which every call failed with that error",
      test: ["transports/http/status.test.ts", "has the status of its calls"],
    },
    { says: "sentences for people and may change; never", because: advice },
    {
      says: "| always             |",
      test: ["client/retry.test.ts", "repeats whatever certainly did not run"],
    },
    {
      says: "| never              |",
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
      says: "at most ten times a second",
      test: ["transports/sse/link.test.ts", "later ten times a second at most"],
    },
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
    { says: "holds at most `maxInFlight`", because: option },
    {
      says: "requests at most 32 MiB",
      test: ["transports/nats/jetstream-delivery.test.ts", "does not disconnect the worker"],
    },
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
    {
      says: "handlers that never end, even if they report progress",
      test: [
        "regressions/progress-renews-the-travelled-time.test.ts",
        "the server's own limit counts from the start",
      ],
    },
    {
      says: "a shutdown that never ends",
      test: [
        "server/shutdown.test.ts",
        "calls that do not finish are ended after the time to drain",
      ],
    },
    {
      says: "](mcp.md#timeouts-and-sizes) that never end",
      test: [
        "mcp/server/tools.test.ts",
        "methods of a server run no longer for agents than the server says",
      ],
    },
    {
      says: "calls that never end       ",
      test: ["client/time.test.ts", "ends a call without a reply, after 60 seconds by default"],
    },
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
    {
      says: "idle connections that are never closed",
      test: [
        "transports/http/fast-path.test.ts",
        "a connection that sends nothing is refused, and one that is idle is closed",
      ],
    },
    {
      says: "a message that never ends",
      test: [
        "transports/tcp/faults.test.ts",
        "a peer that sends half a message and waits is disconnected",
      ],
    },
    {
      says: '{ "ran": false }`. At most 100',
      test: ["transports/http/crowds.test.ts", "while 100 others wait to be refused"],
    },
    {
      says: "At most 100 clients",
      test: ["transports/tcp/crowds.test.ts", "while 100 others are"],
    },
    {
      says: "a ping every 30 s",
      test: [
        "transports/ws/hostile-peers.test.ts",
        "accepts the answer to its ping, but only once",
      ],
    },
    { says: "listen and never send", because: option },
    {
      says: "never counts. A message may come",
      test: ["transports/ws/hostile-peers.test.ts", "ignores a pong that does not answer its ping"],
    },
    {
      says: "may come in fragments, at most",
      test: ["transports/ws/hostile-peers.test.ts", "closes with 1008 for too many fragments"],
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
  "a2a.md": [
    {
      says: "at most as much of `maxAgents`",
      test: ["a2a/agent.test.ts", "more than its share of messages from one caller"],
    },
    {
      says: "at most 1,000 for one webhook and 16 MiB",
      test: ["a2a/push.test.ts", "hold 16 MiB of notifications together"],
    },
    {
      says: "at most 100 deliveries",
      test: ["a2a/push.test.ts", "hold a hundred connections together"],
    },
    {
      says: "A message is never",
      test: ["a2a/client.test.ts", "does not repeat a message that may have run"],
    },
    { says: "plays transcripts of every rule", because: about },
  ],
  "deploy.md": [{ says: "cli.md#every-option", because: name }],
  "cli.md": [
    { says: "all options](#every-option)", because: name },
    { says: "beside it](#every-option)", because: name },
    {
      says: "include every delayed call",
      test: ["cli/bench.test.ts", "so that a slow server cannot hide"],
    },
    {
      says: "never sent. Failures",
      test: ["cli/bench.test.ts", "calls that were due and could not be sent are reported"],
    },
    {
      says: "every exported function",
      test: [
        "cli/serve.test.ts",
        "serves the exported functions of a module without methods and without a default export",
      ],
    },
    { says: "A module that never", test: ["cli/serve.test.ts", "a module that cannot be served"] },
    {
      says: "never empty",
      test: ["cli/usage.test.ts", "a mistake is reported in one line, with exit code 2"],
    },
    {
      says: "the demo always has it  ",
      test: ["cli/demo.test.ts", "--port 0 takes a free port and shows it"],
    },
    {
      says: "the demo always has them",
      test: ["cli/demo.test.ts", "--port 0 takes a free port and shows it"],
    },
    {
      says: "the demo always has `/mcp`",
      test: ["cli/demo.test.ts", "--port 0 takes a free port and shows it"],
    },
    { says: "## Every option", because: name },
    { says: "(default never)", because: option },
    { says: "items always are", test: ["cli/stream.test.ts", "each item is a line of JSON"] },
  ],
  "client.md": [
    {
      says: "accepts every client",
      test: ["types/values.test-d.ts", "a function that takes any client takes a rich one"],
    },
    { says: "Every promise settles", test: ["client/settling.test.ts", "every promise settles"] },
    {
      says: "explicit `batch` is never split",
      test: ["client/batching.test.ts", "leaves explicit batches as they are"],
    },
    {
      says: "may always be sent again",
      test: ["client/retry.test.ts", "repeats whatever certainly did not run"],
    },
    {
      says: "every open call fails",
      test: ["connection/reconnect.test.ts", "does not reconnect with reconnect: false"],
    },
    {
      says: "runs at most 1,000 calls of one connection",
      test: ["connection/messages.test.ts", "over the limit of calls in flight are refused"],
    },
    {
      says: "Over HTTP every request counts on its own",
      test: ["server/concurrency.test.ts", "the calls of one origin have their own limit"],
    },
    {
      says: "a client that never answers",
      test: ["connection/messages.test.ts", "that call back wait for 60 s"],
    },
  ],
  "conformance.md": [
    {
      says: "Every response must be",
      test: ["testing/wrong-servers.test.ts", "in the group %s a server that %s"],
    },
    {
      says: "how many messages a run sends at most",
      test: ["testing/conformance.test.ts", "sends the messages of its cases and no others"],
    },
    { says: "Names that every object has come back", because: name },
    { says: "brackets that never close", because: name },
    { says: "Names that every object has are not methods", because: name },
  ],
  "gateway.md": [
    { says: "every ten seconds", because: interval },
    { says: "and every second", because: interval },
    {
      says: "runs at most 32 times",
      test: ["gateway/own-connections.test.ts", "programs get at most 32"],
    },
    {
      says: "What is never forwarded",
      test: ["gateway/own-names.test.ts", "does not cancel calls of others"],
    },
  ],
  "index.md": [
    {
      says: "over every wire",
      test: ["transports/contract/calls.ts", "many calls in flight are paired with their answers"],
    },
    { says: "lists every public function", because: about },
  ],
  "lsp.md": [
    {
      says: "the text that never changes",
      test: ["lsp/server.test.ts", "of a handler that waits stay as they were"],
    },
    {
      says: "as every editor does",
      test: ["lsp/server.test.ts", "are counted in UTF-16 for a client that knows nothing else"],
    },
  ],
  "mcp-client.md": [
    {
      says: "at most 16 MiB of them",
      test: ["mcp/client/result-cache.test.ts", "at most 16 MiB of results are kept"],
    },
    {
      says: "at most 100 questions",
      test: ["mcp/client/turns.test.ts", "more than a hundred questions at once"],
    },
    {
      says: "at most 256 calls are in flight",
      test: ["mcp/client/turns.test.ts", "of many calls 256 are on their way at a time"],
    },
    {
      says: "while it waits is never sent",
      test: [
        "mcp/client/turns.test.ts",
        "is not sent if it was cancelled or timed out, and the next one is",
      ],
    },
    {
      says: "repeats a request at most 32 times",
      test: [
        "mcp/client/pages.test.ts",
        "the client gives up on a server that always has another page",
      ],
    },
    {
      says: "at most 100 such tasks",
      test: ["mcp/client/asked-tasks.test.ts", "tasks are bounded in number and in time"],
    },
    {
      says: "but at most an hour",
      test: ["mcp/client/asked-tasks.test.ts", "how long a task is kept, up to an hour"],
    },
    {
      says: "Other requests never wait for the stream",
      test: ["mcp/client/server-stream.test.ts", "requests do not wait for a stream"],
    },
    { says: "in every test run", because: about },
  ],
  "mcp-gateway.md": [
    {
      says: "at most 32 of them",
      test: ["mcp/gateway/gateway.test.ts", "a session may have a connection of its own"],
    },
  ],
  "mcp.md": [
    {
      says: "Every method is a tool",
      test: ["mcp/server/tools.test.ts", "methods are offered by mark, by rule, or unless"],
    },
    { says: "[every handler]", because: name },
    {
      says: "asks for another time, at most an hour",
      test: ["mcp/server/tasks.test.ts", "a client may ask for another time, of at most an hour"],
    },
    {
      says: "together take at most 64 MiB",
      test: ["mcp/server/tasks.test.ts", "results of tasks are bounded in memory"],
    },
    {
      says: "so at most half of them",
      test: [
        "mcp/server/authorization.test.ts",
        "no caller can run so many tasks that others have no place",
      ],
    },
    {
      says: "every server of a fleet",
      test: ["mcp/server/fleet.test.ts", "cancel the tasks of each other"],
    },
    {
      says: "every message must carry the credential",
      test: ["mcp/server/guards.test.ts", "over HTTP+SSE every message is authenticated"],
    },
    {
      says: "at most 10,000 sessions",
      test: ["mcp/server/faults.test.ts", "sessions are bounded in number"],
    },
    {
      says: "after `initialize`. There are at most",
      test: ["mcp/server/unused-sessions.test.ts", "a flood of initialize leaves a thousand"],
    },
    {
      says: "that were never used go first",
      test: ["mcp/server/unused-sessions.test.ts", "those that were never used go first"],
    },
    {
      says: "A session in use is never ended",
      test: ["mcp/server/unused-sessions.test.ts", "those in use stay"],
    },
    {
      says: "may have at most 32 KiB",
      test: ["mcp/server/unused-sessions.test.ts", "of a long greeting only what matters"],
    },
    {
      says: "at most 1,000 resources",
      test: ["mcp/server/subscriptions.test.ts", "the subscriptions of one session are limited"],
    },
    {
      says: "of its own a client can always have",
      test: ["mcp/server/subscriptions.test.ts", "a few are always possible"],
    },
    {
      says: "never sent, or is no longer stored",
      test: ["mcp/server/resume.test.ts", "an event that was never sent"],
    },
    {
      says: "the last 100 events, at most 128 KiB",
      test: ["mcp/server/shared-streams.test.ts", "of a stream the last 100 events are stored"],
    },
    { says: "in every test run", because: about },
  ],
  "nats-state.md": [
    {
      says: "for ten more minutes at most",
      test: [
        "transports/nats/kv.test.ts",
        "a method that does not end after its caller left releases its key in the end",
      ],
    },
    {
      says: "after at most two seconds",
      test: ["transports/nats/kv-restart.test.ts", "a call that ends while NATS is away runs once"],
    },
    {
      says: "some 20 seconds at most",
      test: ["transports/nats/kv-election.full.test.ts", "wait for the election, and each runs"],
    },
  ],
  "nats.md": [
    {
      says: "sent with every call",
      test: ["transports/nats/link.test.ts", "so does what the caller adds"],
    },
    { says: "may call every method", because: "a warning" },
    { says: "to every reply subject", because: "what nats-server does" },
    { says: "every `aliveMs` while its call runs", because: interval },
    { says: "Both do so every 5 seconds", because: interval },
    {
      says: "after at most twice `aliveMs`",
      test: [
        "transports/nats/faults.full.test.ts",
        "workers that are killed lose no notification and leave no call open",
      ],
    },
    { says: "probes its open calls every 0.8 s", because: interval },
    { says: "health checks (every", because: interval },
    { says: "ping more often and never give up", because: advice },
    { says: "a connection that never gives up", because: advice },
    { says: "as on every transport", because: "says that they may be lost" },
  ],
  "observability.md": [
    {
      says: "for every wire",
      test: [
        "observability/log.test.ts",
        "HTTP and WebSocket log transport, connection and principal",
      ],
    },
    {
      says: "are always hidden",
      test: [
        "observability/redact.test.ts",
        "a member is hidden by its name, at any depth and in any spelling",
      ],
    },
    { says: "reach every span if", because: "what another program does" },
  ],
  "openrpc.md": [
    {
      says: "Every server answers `rpc.discover`",
      test: ["openrpc/discover.test.ts", "a server describes itself unless told not to"],
    },
  ],
  "other-languages.md": [
    {
      says: "Every callwire server uses plain JSON-RPC",
      test: ["transports/contract/transcripts.ts", "transcripts"],
    },
  ],
  "performance.md": [
    { says: "produces every number", because: about },
    {
      says: "never parses an unusual request itself",
      test: ["transports/http/fast-path.test.ts", "is answered, between others"],
    },
    {
      says: "at most 8 KiB long and at most 64",
      test: ["transports/http/fast-path.test.ts", "is answered, between others"],
    },
    {
      says: "every connection when the server closes",
      test: ["transports/http/fast-path.test.ts", "a listener for requests sees all"],
    },
    {
      says: "never use the fast path",
      test: ["transports/http/fast-path.test.ts", "handlers of other servers, and mounts"],
    },
  ],
  "playground.md": [
    {
      says: "It works with every",
      test: [
        "browser/playground-others.test.ts",
        "a server with only an OpenRPC document is listed and called",
      ],
    },
    {
      says: "every message in both directions",
      test: ["browser/playground-wire.test.ts", "shows the whole message when it is chosen"],
    },
  ],
  "scaling.md": [
    { says: "crosses at most one route", because: "what nats-server does" },
    { says: "what every call needs", because: advice },
    { says: "Workers on every", because: advice },
    {
      says: "every stored notification is handled, and every call ends with an answer",
      test: [
        "transports/nats/faults.full.test.ts",
        "workers that are killed lose no notification and leave no call open",
      ],
    },
    { says: "took at most 4.3", because: "a measurement" },
  ],
  "security.md": [
    {
      says: "work the same on every wire",
      test: [
        "security/authorize.test.ts",
        "applies on TCP and WebSocket, and the audit log has the reason",
      ],
    },
    { says: "Not every wire can carry every", because: "promises nothing" },
    {
      says: "in the params](signing.md#in-the-params), which work on every wire",
      test: ["security/signing/params.test.ts", "is made by the client, and read over HTTP"],
    },
    {
      says: "Every reply that is not an event",
      test: ["security/rate-limit.test.ts", "headers show both limits"],
    },
    {
      says: "Every server also refuses calls",
      test: ["protocol/overload.test.ts", "are refused in part if they"],
    },
    {
      says: "at most 100,000 of them",
      test: ["security/rate-limit.test.ts", "is bounded: callers without a bucket share one"],
    },
    {
      says: "If every call of a batch is refused",
      test: [
        "security/authenticate.test.ts",
        "a batch whose calls are all refused has their status",
      ],
    },
    {
      says: "A notification is never answered",
      test: [
        "transports/http/status.test.ts",
        "a notification, and a batch of them, have the status 204",
      ],
    },
    {
      says: "callers see at most `data.reason`",
      test: ["security/audit-log.test.ts", "each decision is one line of JSON"],
    },
    {
      says: "are never logged. Each decision",
      test: [
        "security/audit-log.test.ts",
        "no input of a caller makes a second line, or an endless one",
      ],
    },
    {
      says: "`null` is never allowed",
      test: ["transports/http/access.test.ts", "but never for the origin null"],
    },
    {
      says: "never a wildcard",
      test: [
        "transports/http/access.test.ts",
        "a page of a listed origin is answered and may read",
      ],
    },
  ],
  "server.md": [
    {
      says: "It cannot replace members that every",
      test: ["server/context-methods.test.ts", "cannot replace what every call has"],
    },
    {
      says: "In every other case the object",
      test: ["server/plain-functions.test.ts", "gets the object"],
    },
    { says: "not every parameter has a name", because: "a reason, in the table of an entry above" },
    {
      says: "the same on every wire",
      test: ["server/context.test.ts", "are those of the wire that brought the call"],
    },
    {
      says: "Middleware wraps every call",
      test: ["server/middleware.test.ts", "the first middleware sees a call first"],
    },
    {
      says: "it never sees the error",
      test: ["server/middleware.test.ts", "middleware sees failures as values"],
    },
    {
      says: "closes every wire that serves it",
      test: ["server/shutdown.test.ts", "wires close after the last call"],
    },
    {
      says: "The last message says so about every call",
      test: [
        "transports/shutdown-message.test.ts",
        "goes out again, whatever it does, until a server accepts it",
      ],
    },
  ],
  "signing.md": [
    { says: "every signature is invalid", because: "a warning" },
    {
      says: "it never drops a nonce early",
      test: ["security/memory-nonces.test.ts", "when it is full it refuses"],
    },
    { says: "always synced", because: advice },
    {
      says: "signed like every message",
      test: ["security/signing/messages.test.ts", "cannot answer with an unsigned reply"],
    },
    {
      says: "at most every 30",
      test: ["security/jwt.test.ts", "unknown keys do not cause repeated fetches"],
    },
  ],
  "testing.md": [{ says: "as always", because: advice }],
  "values.md": [
    {
      says: "on every [wire](wires.md), in batches",
      test: [
        "transports/contract/values.ts",
        "are returned unchanged, whatever they are nested in",
      ],
    },
    {
      says: "never holds a whole file",
      test: ["transports/http/large-files.full.test.ts", "and take little memory"],
    },
    {
      says: "as base64 on every wire, within",
      test: ["server/rich-values.test.ts", "that is too long for a message ends the stream"],
    },
    {
      says: "hold for all others, on every wire",
      test: ["transports/contract/bytes.ts", "that a limit forbids are refused while they arrive"],
    },
    {
      says: "every request.",
      test: ["transports/http/file-uploads.test.ts", "of the page of another site is refused"],
    },
    {
      says: "which never begins with zero",
      because: "a fact about JSON",
    },
  ],
  "../README.md": [
    {
      says: "JSON-RPC for TypeScript, over every wire",
      test: ["transports/contract/calls.ts", "many calls in flight are paired with their answers"],
    },
    { says: "every message on the wire](docs/images", because: "the text of a picture" },
    { says: "## The same client on every wire", because: name },
    {
      says: "client, on every wire, and [uploads]",
      test: ["transports/contract/streams.ts", "items arrive in order, and then the stream ends"],
    },
    {
      says: "Calls always finish",
      test: ["model/model.test.ts", "a connection keeps its guarantees in every order of events"],
    },
    { says: "Every promise", test: ["client/settling.test.ts", "every promise settles"] },
    {
      says: "Every server answers `rpc.discover`",
      test: ["openrpc/discover.test.ts", "a server describes itself unless told not to"],
    },
    {
      says: "for every method of [LSP]",
      test: ["types/lsp.test-d.ts", "handlers are typed by the names of their methods"],
    },
    {
      says: "connects every wire with every other",
      test: ["gateway/contract.test.ts", "a gateway from TCP to"],
    },
    { says: "Every example in the specification, and every decision", because: about },
    {
      says: "in process, on every wire",
      test: ["transports/contract/transcripts.ts", "transcripts"],
    },
  ],
};
