import { z } from "zod";
import { framings } from "../command-arguments.ts";
import { logFormats } from "../log-format.ts";

const milliseconds = z.number().positive();
const count = z.int().positive();
const text = z.string().min(1);

const upstream = z
  .strictObject({
    url: text
      .optional()
      .describe("Its address: http, https, ws, wss, tcp, tls, unix, stdio or nats."),
    urls: z
      .array(text)
      .min(1)
      .optional()
      .describe("Several equivalent addresses, among which calls are balanced."),
    durable: z
      .strictObject({
        url: text.describe("The address of the queue: nats://host:port/subject."),
        partitions: count
          .optional()
          .describe("The partitions of the queue, the same number as the workers have."),
        key: text
          .optional()
          .describe('Notifications with the same value run in order, such as "params.user".'),
        timeoutMs: milliseconds
          .optional()
          .describe("How long to try to store a notification; 30000 by default."),
      })
      .optional()
      .describe("A durable queue on NATS JetStream, for notifications."),
    balance: z
      .union(
        [
          z.enum(["round-robin", "least-in-flight"]),
          z.strictObject({
            by: text.describe('The key, such as "params.user", "principal" or "header.x-tenant".'),
          }),
        ],
        'must be "round-robin", "least-in-flight" or {"by": "params.user"}',
      )
      .optional(),
    per: z
      .enum(["gateway", "connection"])
      .optional()
      .describe(
        "Whether callers share one connection, or each has its own, over which the server can call back.",
      ),
    maxConnections: count
      .optional()
      .describe("Limit for connections of single callers, per address; 32 by default for stdio."),
    version: z.enum(["1.0", "2.0"]).optional().describe("Its JSON-RPC version."),
    framing: z
      .enum(framings)
      .optional()
      .describe("The message framing of tcp, tls, unix and stdio."),
    headers: z
      .record(text, z.string())
      .optional()
      .describe('Sent with every request; "$NAME" is replaced by the environment variable.'),
    forwardHeaders: z.array(text).optional().describe("Headers of the caller to forward."),
    healthCheck: z
      .union(
        [
          z.literal(false),
          z.strictObject({
            method: text.optional(),
            everyMs: milliseconds.optional(),
            timeoutMs: milliseconds.optional(),
          }),
        ],
        'must be false or {"method": "ping", "everyMs": 10000, "timeoutMs": 2000}',
      )
      .optional(),
    required: z
      .boolean()
      .optional()
      .describe("Whether /readyz fails while no target of this upstream is available."),
    circuitBreaker: z
      .strictObject({ failures: count.optional(), coolDownMs: milliseconds.optional() })
      .optional(),
  })
  .refine(
    ({ url, urls, durable }) =>
      [url, urls, durable].filter((given) => given !== undefined).length === 1,
    { message: 'needs one of "url", "urls" and "durable"' },
  );

const route = z.strictObject({
  method: text.describe("A method name, or a prefix and a star."),
  to: text.describe("The name of an upstream."),
  rename: text
    .optional()
    .describe("The name at the upstream; a star is replaced by what the star of method matched."),
  timeoutMs: milliseconds.optional(),
  maxInFlight: count.optional(),
  idempotent: z
    .boolean()
    .optional()
    .describe("Whether its methods may run twice, so that calls can be retried."),
  attempts: count.optional().describe("Limit for the attempts of one call."),
});

export const configSchema = z.strictObject({
  $schema: z.string().optional(),
  title: text.optional().describe("The title of the merged rpc.discover document."),
  version: text.optional(),
  versions: z
    .array(z.enum(["1.0", "2.0"]))
    .min(1)
    .optional()
    .describe("The JSON-RPC versions that callers may use."),
  timeoutMs: milliseconds.optional().describe("Time limit of a call."),
  limits: z
    .strictObject({
      maxMessageBytes: count,
      maxReplyLength: count,
      maxBatch: count,
      maxBatchConcurrency: count,
      maxDepth: count,
      maxRichValues: count,
      maxFiles: count,
      maxFileBytes: count,
      maxIdLength: count,
      maxInFlight: count,
      maxInFlightBytes: count,
      maxStreams: count,
      maxBufferedBytes: count,
    })
    .partial()
    .optional(),
  apiKeys: text
    .optional()
    .describe("Callers need a key of this file, a JSON array of what callwire keys create prints."),
  jwt: z
    .strictObject({
      jwks: text.describe("Where the public keys are."),
      issuer: text,
      audience: text,
    })
    .optional()
    .describe("Callers need a token that is signed with one of these keys."),
  rateLimit: text.optional().describe("Calls of one address, such as 100/s or 600/m."),
  log: z.enum(logFormats).optional().describe("The format of the log."),
  tls: z
    .strictObject({ cert: text.describe("A file in PEM."), key: text.describe("A file in PEM.") })
    .optional()
    .describe("The certificate for HTTPS, and its private key."),
  metrics: z.boolean().optional().describe("Whether to serve metrics at /metrics."),
  upstreams: z.record(text, upstream),
  routes: z.array(route).min(1),
});

/** The JSON Schema of config files, for editors; saved as `docs/gateway.schema.json`. */
export function configJsonSchema(): object {
  return {
    $id: "urn:callwire:gateway-config",
    title: "A gateway of callwire",
    ...z.toJSONSchema(configSchema, { io: "input" }),
  };
}
