import { chunksOf, readBytes } from "../http/client-exchange.ts";
import { isRecord } from "../protocol/record.ts";
import { equalSecrets } from "../security/bearer.ts";
import * as legacy from "./legacy.ts";
import type { StreamResponse } from "./model.ts";

export interface A2aWebhookOptions {
  /** The token that was sent to the agent with the URL of this webhook; stops notifications of others. */
  readonly token: string;
  /** Gets each event. If it throws, the agent is asked to send the event again. */
  receive(event: StreamResponse): void | Promise<void>;
  /** Longest notification, in bytes; stops memory exhaustion. @default 1 MiB */
  readonly maxBytes?: number;
}

/**
 * Receives the push notifications of agents, on runtimes with `fetch`; `webhookMount` of `callwire/a2a/node` does it for
 * `serveHttp`. An agent may send an event twice, if it did not get the answer to the first.
 * @example
 * ```ts
 * import { a2aClient, a2aWebhook } from "callwire/a2a";
 *
 * const token = crypto.randomUUID();
 * const receive = a2aWebhook({ token, receive: (event) => console.log(event) });
 * export default { fetch: receive };
 *
 * const agent = await a2aClient("https://agents.example.com");
 * const taskPushNotificationConfig = { url: "https://me.example.com/hook", token };
 * await agent.send("What is new?", { returnImmediately: true, taskPushNotificationConfig });
 * ```
 */
export function a2aWebhook(options: A2aWebhookOptions): (request: Request) => Promise<Response> {
  const { token, receive, maxBytes = 1024 * 1024 } = options;
  if (typeof token !== "string" || token === "")
    throw new TypeError('"token" must be a string that only the agent knows');
  return async (request) => {
    if (request.method !== "POST") return refusal(405, "notifications are sent with POST");
    if (!equalSecrets(request.headers.get("x-a2a-notification-token") ?? "", token))
      return refusal(401, "the header X-A2A-Notification-Token is missing or wrong");
    const bytes = await readBytes(chunksOf(request.body), maxBytes);
    if (bytes === undefined) return refusal(413, `a notification has ${maxBytes} bytes at most`);
    const event = eventOf(bytes);
    if (event === undefined) return refusal(400, "the body is not an event of A2A");
    try {
      await receive(event);
    } catch {
      return refusal(500, "the event could not be processed; send it again");
    }
    return new Response(null, { status: 204 });
  };
}

const members = ["task", "message", "statusUpdate", "artifactUpdate"] as const;

function eventOf(bytes: Uint8Array): StreamResponse | undefined {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  // Agents of 0.3 send the task as it is.
  if (typeof value.kind === "string") return legacy.responseFrom(value);
  return members.some((member) => isRecord(value[member]))
    ? (value as unknown as StreamResponse)
    : undefined;
}

function refusal(status: number, error: string): Response {
  return Response.json({ error }, { status });
}
