/** A small receiver of OTLP over HTTP, in protobuf and in JSON, as Jaeger and LangFuse are. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  /** 2 is a server, 3 a client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export class OtlpReceiver implements AsyncDisposable {
  readonly spans: ReceivedSpan[] = [];
  readonly contentTypes = new Set<string>();
  /** The requests, without their bodies. */
  readonly requests: { readonly url: string; readonly headers: IncomingHttpHeaders }[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks);
      const type = request.headers["content-type"] ?? "";
      this.contentTypes.add(type);
      this.requests.push({ url: request.url ?? "", headers: request.headers });
      const isJson = type.includes("json");
      this.spans.push(...(isJson ? fromJson(JSON.parse(body.toString())) : fromProtobuf(body)));
      response.setHeader("content-type", type).end(isJson ? "{}" : "");
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/traces`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

interface JsonSpan extends Omit<ReceivedSpan, "attributes" | "parentSpanId"> {
  readonly parentSpanId?: string;
  readonly attributes?: { key: string; value: Record<string, unknown> }[];
}

function fromJson(body: {
  resourceSpans?: { scopeSpans?: { spans?: JsonSpan[] }[] }[];
}): ReceivedSpan[] {
  return (body.resourceSpans ?? []).flatMap(({ scopeSpans = [] }) =>
    scopeSpans.flatMap(({ spans = [] }) =>
      spans.map(({ parentSpanId = "", attributes = [], ...span }) => ({
        ...span,
        parentSpanId,
        attributes: Object.fromEntries(
          attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
        ),
      })),
    ),
  );
}

type Field = readonly [number: number, value: bigint | Buffer];

/** The fields of a protobuf message, without knowing their names. */
function fieldsOf(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++] as number;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = Number(varint());
    const number = tag >> 3;
    const wire = tag & 7;
    if (wire === 0) fields.push([number, varint()]);
    else {
      const length = wire === 2 ? Number(varint()) : wire === 1 ? 8 : 4;
      fields.push([number, message.subarray(at, at + length)]);
      at += length;
    }
  }
  return fields;
}

function all(message: Buffer, number: number): Buffer[] {
  return fieldsOf(message).flatMap(([n, value]) =>
    n === number && value instanceof Buffer ? [value] : [],
  );
}

/** By the numbers of opentelemetry/proto/trace/v1. */
function fromProtobuf(body: Buffer): ReceivedSpan[] {
  const spans = all(body, 1).flatMap((resource) =>
    all(resource, 2).flatMap((scope) => all(scope, 2)),
  );
  return spans.map((span) => {
    const [traceId = "", spanId = "", parentSpanId = ""] = [1, 2, 4].map((n) =>
      all(span, n)[0]?.toString("hex"),
    );
    const kind = fieldsOf(span).find(([n]) => n === 6)?.[1] ?? 0n;
    const attributes = all(span, 9).map((pair) => {
      const [key, value] = [all(pair, 1)[0], all(pair, 2)[0]] as [Buffer, Buffer];
      const [[number, content] = [0, 0n]] = fieldsOf(value);
      return [key.toString(), number === 1 ? content.toString() : Number(content)];
    });
    return {
      traceId,
      spanId,
      parentSpanId,
      name: all(span, 5)[0]?.toString() ?? "",
      kind: Number(kind),
      attributes: Object.fromEntries(attributes),
    };
  });
}
