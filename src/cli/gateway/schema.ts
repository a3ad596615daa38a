import { z } from "zod";
import { framings } from "../command-arguments.ts";

const milliseconds = z.number().positive();
const count = z.int().positive();
const text = z.string().min(1);

const upstream = z
  .strictObject({
    url: text
      .optional()
      .describe("Where it is: http, https, ws, wss, tcp, tls, unix, stdio or nats."),
    urls: z
      .array(text)
      .min(1)
      .optional()
      .describe("Several that do the same, among which calls are spread."),
    balance: z
      .union(
        [
          z.enum(["round-robin", "least-in-flight"]),
          z.strictObject({
            by: text.describe(
              'What decides, such as "params.user", "principal" or "header.x-tenant".',
            ),
          }),
        ],
        'is "round-robin", "least-in-flight" or {"by": "params.user"}',
      )
      .optional(),
    per: z
      .enum(["gateway", "connection"])
      .optional()
      .describe(
        "Whether all callers share a connection, or each has its own, over which it is called back.",
      ),
    maxConnections: count
      .optional()
      .describe(
        "Most connections that callers have to themselves, for each address; 32 for stdio unless given.",
      ),
    version: z.enum(["1.0", "2.0"]).optional().describe("Which JSON-RPC it speaks."),
    framing: z
      .enum(framings)
      .optional()
      .describe("How messages are told apart, for tcp, tls, unix and stdio."),
    headers: z
      .record(text, z.string())
      .optional()
      .describe('Sent with every request; "$NAME" takes the value from the environment.'),
    forwardHeaders: z.array(text).optional().describe("Headers of the caller that go on to it."),
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
        'is false or {"method": "ping", "everyMs": 10000, "timeoutMs": 2000}',
      )
      .optional(),
    circuitBreaker: z
      .strictObject({ failures: count.optional(), coolDownMs: milliseconds.optional() })
      .optional(),
  })
  .refine(({ url, urls }) => (url === undefined) !== (urls === undefined), {
    message: 'needs either "url" or "urls"',
  });

const route = z.strictObject({
  method: text.describe("A full name, or a prefix with a star at its end."),
  to: text.describe("The name of an upstream."),
  rename: text
    .optional()
    .describe("The name there; a star stands for what the star of method stood for."),
  timeoutMs: milliseconds.optional(),
  maxInFlight: count.optional(),
  idempotent: z.boolean().optional().describe("Whether its methods may run twice."),
  attempts: count.optional().describe("Most tries of one call."),
});

/** What a config file of the gateway holds. */
export const configSchema = z.strictObject({
  $schema: z.string().optional(),
  title: text.optional().describe("What the merged document of rpc.discover is called."),
  version: text.optional(),
  versions: z
    .array(z.enum(["1.0", "2.0"]))
    .min(1)
    .optional()
    .describe("Which JSON-RPC callers may speak."),
  timeoutMs: milliseconds.optional().describe("Longest run of a call."),
  limits: z
    .strictObject({
      maxMessageBytes: count,
      maxReplyLength: count,
      maxBatch: count,
      maxBatchConcurrency: count,
      maxDepth: count,
      maxIdLength: count,
      maxInFlight: count,
      maxStreams: count,
      maxBufferedBytes: count,
    })
    .partial()
    .optional(),
  upstreams: z.record(text, upstream),
  routes: z.array(route).min(1),
});

/** The JSON Schema that editors check config files with; `docs/gateway.schema.json` is this. */
export function configJsonSchema(): object {
  return { title: "A gateway of callwire", ...z.toJSONSchema(configSchema, { io: "input" }) };
}
