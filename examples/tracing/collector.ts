// Receives OTLP as JSON, instead of Jaeger, and draws a trace as a tree.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string };
}

interface Span {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 2 is a server, 3 a client. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

export class Collector {
  readonly #spans: Span[] = [];
  #changed = (): void => {};
  readonly #server = createServer(async (request, response) => {
    const { resourceSpans } = JSON.parse(await text(request)) as Export;
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = textOf(resource.attributes, "service.name") ?? "";
      for (const { spans } of scopeSpans) {
        this.#spans.push(...spans.map((span) => ({ ...span, service })));
      }
    }
    response.setHeader("content-type", "application/json").end("{}");
    this.#changed();
  });

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/traces`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Resolves after this number of spans; `root` names the first span, if there are several traces. */
  async received(count: number, root?: string): Promise<void> {
    while (this.tree("", "", root).length < count) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  get traces(): number {
    return new Set(this.#spans.map(({ traceId }) => traceId)).size;
  }

  /** The spans as lines; `root` names the first span, if there are several traces. */
  tree(parent = "", indent = "", root?: string): string[] {
    const children = this.#spans.filter(
      ({ parentSpanId = "", name }) => parentSpanId === parent && (root ?? name) === name,
    );
    return children.flatMap((span, i) => {
      const last = i === children.length - 1;
      const branch = parent === "" ? "" : last ? "└─ " : "├─ ";
      const below = parent === "" ? "" : last ? "   " : "│  ";
      return [
        `${indent}${branch}${describe(span)}`,
        ...this.tree(span.spanId, `${indent}${below}`),
      ];
    });
  }

  /** The trace with this first span, as an SVG: a bar for each span. */
  picture(root: string): string {
    const below = (parent: string, depth: number): Bar[] =>
      this.#spans
        .filter(({ parentSpanId = "", name }) =>
          parent === "" ? parentSpanId === "" && name === root : parentSpanId === parent,
        )
        .flatMap((span) => [{ span, depth }, ...below(span.spanId, depth + 1)]);
    return picture(below("", 0));
  }
}

/** A bar of a picture, by how deep it is in the trace. */
interface Bar {
  readonly span: Span;
  readonly depth: number;
}

/** Nanoseconds from one time to another, in milliseconds. */
function millis(from: string, to: string): number {
  return Number(BigInt(to) - BigInt(from)) / 1e6;
}

function picture(bars: readonly Bar[]): string {
  const [first] = bars;
  if (first === undefined) return "";
  const from = first.span.startTimeUnixNano;
  const last = Math.max(...bars.map(({ span }) => millis(from, span.endTimeUnixNano)));
  const [width, row] = [900, 34];
  const rows = bars.map(({ span, depth }, i) => {
    const x = (millis(from, span.startTimeUnixNano) / last) * (width - 20) + 10;
    const length = (millis(span.startTimeUnixNano, span.endTimeUnixNano) / last) * (width - 20);
    const y = i * row + 10;
    const fill = span.kind === 2 || span.kind === 5 ? "#2a6f97" : "#9ecae1";
    const text = describe(span).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    return `<rect x="${x.toFixed(1)}" y="${y + 16}" width="${Math.max(2, length).toFixed(1)}" height="10" rx="2" fill="${fill}"/><text x="${12 + depth * 14}" y="${y + 11}">${text}</text>`;
  });
  const height = bars.length * row + 20;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13"><title>The spans of one trace</title><rect width="100%" height="100%" fill="#fff"/>${rows.join("")}</svg>\n`;
}

function describe(span: Span): string {
  const { service, name, kind, attributes, startTimeUnixNano, endTimeUnixNano } = span;
  const ms = Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6;
  const what = kind === 2 ? `answers over ${textOf(attributes, "callwire.transport")}` : "calls";
  return `${service} ${what}: ${name}, ${ms.toFixed(1)} ms`;
}

function textOf(attributes: readonly Attribute[], name: string): string | undefined {
  return attributes.find(({ key }) => key === name)?.value.stringValue;
}
