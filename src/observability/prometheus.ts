import type { PageRequest, PageResponse, SharedPage } from "../protocol/shared-page.ts";
import { lastingFamilies, mergedFamilies, plainFamilies } from "./merged-families.ts";
import type { Distribution, Family, Labels } from "./metric-family.ts";
import type { Metrics } from "./metrics.ts";

/** The answer to a scrape. */
export interface Exposition {
  readonly contentType: string;
  readonly body: string;
}

/**
 * Writes metrics in the Prometheus format, or as OpenMetrics if the `Accept` header asks for it.
 * @example
 * ```ts
 * import { createMetrics, exposition } from "callwire/observability";
 *
 * const metrics = createMetrics();
 * const { contentType, body } = exposition(metrics.families(), "application/openmetrics-text");
 * ```
 */
export function exposition(families: readonly Family[], accept: string | undefined): Exposition {
  const open = accept?.includes("application/openmetrics-text") ?? false;
  const body = families.map((family) => familyText(family, open)).join("");
  return open
    ? {
        contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
        body: `${body}# EOF\n`,
      }
    : { contentType: "text/plain; version=0.0.4; charset=utf-8", body };
}

function familyText(family: Family, open: boolean): string {
  const { kind, name, help } = family;
  // Only OpenMetrics names a counter without `_total`.
  const titled = kind === "counter" && !open ? `${name}_total` : name;
  const head = `# HELP ${titled} ${escapedHelp(help)}\n# TYPE ${titled} ${kind}\n`;
  if (family.kind === "histogram") {
    return (
      head +
      family.series.map(({ labels, value }) => distributionText(name, labels, value)).join("")
    );
  }
  const sample = kind === "counter" ? `${name}_total` : name;
  return head + family.series.map(({ labels, value }) => line(sample, labels, `${value}`)).join("");
}

function distributionText(name: string, labels: Labels, value: Distribution): string {
  const { bounds, counts, count, sum } = value;
  let text = "";
  let below = 0;
  for (let i = 0; i < bounds.length; i++) {
    below += counts[i] as number;
    text += line(`${name}_bucket`, { ...labels, le: bound(bounds[i] as number) }, `${below}`);
  }
  text += line(`${name}_bucket`, { ...labels, le: "+Inf" }, `${count}`);
  return `${text}${line(`${name}_sum`, labels, `${sum}`)}${line(`${name}_count`, labels, `${count}`)}`;
}

/** OpenMetrics requires "1.0"; Prometheus accepts it too. */
function bound(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : `${value}`;
}

function line(name: string, labels: Labels, value: string): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapedLabel(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
}

function escapedLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

function escapedHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

/**
 * Answers Prometheus scrapes on a Node HTTP server: `mounts: { "/metrics": metricsPage(metrics) }`.
 * Every client of that server can read it; use a separate server to restrict this.
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
): ((request: PageRequest, response: PageResponse) => void) & SharedPage {
  const page = (request: PageRequest, response: PageResponse): void =>
    show(metrics.families(), request, response);
  // With workers, the page is about all of them.
  return Object.assign(page, {
    snapshot: () => plainFamilies(metrics.families()),
    merged: (snapshots: readonly unknown[]) => mergedFamilies(snapshots as Family[][]),
    remains: (snapshot: unknown) => lastingFamilies(snapshot as Family[]),
    show: (snapshot: unknown, request: PageRequest, response: PageResponse) =>
      show(snapshot as Family[], request, response),
  });
}

function show(
  families: readonly Family[],
  { method, headers }: PageRequest,
  response: PageResponse,
): void {
  if (method !== "GET" && method !== "HEAD") {
    response.writeHead(405, { allow: "GET, HEAD" });
    response.end();
    return;
  }
  const { body, contentType } = exposition(families, headers.accept);
  response.writeHead(200, { "content-type": contentType, "cache-control": "no-store" });
  if (method === "HEAD") response.end();
  else response.end(body);
}
