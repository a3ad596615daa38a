import type { Metrics } from "./metrics.ts";

interface ScrapeRequest {
  readonly method?: string | undefined;
  readonly headers: { readonly accept?: string | undefined };
}

interface ScrapeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(text?: string): unknown;
}

/**
 * Answers scrapes of Prometheus on a server of Node's: `mounts: { "/metrics": metricsPage(metrics) }`.
 * Who may reach the server may read it, so give it a server of its own where that is too many.
 * @example
 * ```ts
 * import { serveHttp } from "callwire/http/node";
 * import { createMetrics, metricsPage } from "callwire/observability";
 *
 * const metrics = createMetrics();
 * await serveHttp(server, { mounts: { "/metrics": metricsPage(metrics) } });
 * ```
 */
export function metricsPage(
  metrics: Metrics,
): (request: ScrapeRequest, response: ScrapeResponse) => void {
  return ({ method, headers }, response) => {
    if (method !== "GET" && method !== "HEAD") {
      response.writeHead(405, { allow: "GET, HEAD" });
      response.end();
      return;
    }
    const { body, contentType } = metrics.text(headers.accept);
    response.writeHead(200, { "content-type": contentType, "cache-control": "no-store" });
    if (method === "HEAD") response.end();
    else response.end(body);
  };
}
