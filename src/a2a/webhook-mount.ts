import { Readable } from "node:stream";
import type { NodeHandler } from "../transports/http/node-handler.ts";
import { type A2aWebhookOptions, a2aWebhook } from "./webhook-receiver.ts";

/**
 * Receives the push notifications of agents, as a mount of `serveHttp`.
 * @example
 * ```ts
 * import { webhookMount } from "callwire/a2a/node";
 * import { serveHttp } from "callwire/http/node";
 *
 * const token = crypto.randomUUID();
 * const hook = webhookMount({ token, receive: (event) => console.log(event) });
 * await serveHttp(server, { port: 8000, mounts: { "/hook": hook } });
 * ```
 */
export function webhookMount(options: A2aWebhookOptions): NodeHandler {
  const receive = a2aWebhook(options);
  return async (request, response) => {
    const { method = "GET", headers } = request;
    const token = headers["x-a2a-notification-token"];
    const { status, body } = await receive(
      new Request("http://localhost/", {
        method,
        headers: typeof token === "string" ? { "x-a2a-notification-token": token } : {},
        ...(method !== "GET" && method !== "HEAD" && { body: Readable.toWeb(request) as BodyInit }),
        duplex: "half",
      } as RequestInit),
    ).catch(() => Response.json({ error: "the notification could not be read" }, { status: 400 }));
    response.writeHead(status, { "content-type": "application/json" });
    response.end(body === null ? undefined : await new Response(body).text());
  };
}
