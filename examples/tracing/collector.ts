// Receives OTLP as JSON, in place of Jaeger, and draws a trace as a tree.
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

  /** Resolves after this number of spans. */
  async received(count: number): Promise<void> {
    while (this.#spans.length < count) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  get traces(): number {
    return new Set(this.#spans.map(({ traceId }) => traceId)).size;
  }

  tree(parent = "", indent = ""): string[] {
    const children = this.#spans.filter(({ parentSpanId = "" }) => parentSpanId === parent);
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
