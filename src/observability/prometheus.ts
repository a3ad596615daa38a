import type { Distribution, Family, Labels } from "./family.ts";

/** A scrape: what to send, and as what. */
export interface Exposition {
  readonly contentType: string;
  readonly body: string;
}

/**
 * Writes metrics as Prometheus reads them; as OpenMetrics where the `Accept` header asks for it.
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
  // Only OpenMetrics names a counter without its suffix.
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

/** OpenMetrics wants "1.0" where Prometheus also takes "1"; both take this. */
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
