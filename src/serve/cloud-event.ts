import type { IncomingHttpHeaders } from "node:http";
import { decodeUtf8 } from "../framing/utf8.ts";
import { parseJson } from "../protocol/json-text.ts";

/** An event as cloudevents.io describes it, with whatever extensions it has. */
export interface CloudEvent {
  readonly specversion: string;
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  readonly time?: string;
  readonly datacontenttype?: string;
  readonly data?: unknown;
  readonly [attribute: string]: unknown;
}

const required = ["id", "source", "type"] as const;

/** The events of a request in any of the three forms, or one sentence on what is wrong with it. */
export function eventsOf(
  headers: IncomingHttpHeaders,
  body: string | undefined,
): readonly CloudEvent[] | string {
  if (body === undefined) return "the body must be UTF-8";
  const type = mediaType(headers["content-type"]);
  if (type === "application/cloudevents+json") return fromEnvelopes(parseJson(body), false);
  if (type === "application/cloudevents-batch+json") return fromEnvelopes(parseJson(body), true);
  if (type.startsWith("application/cloudevents")) return `the format ${type} is not understood`;
  if (headers["ce-specversion"] !== undefined) return fromHeaders(headers, type, body);
  return "this is no CloudEvent: it has neither the content type of one nor the header ce-specversion";
}

/** In the structured form the body is the event. */
function fromEnvelopes(value: unknown, isBatch: boolean): readonly CloudEvent[] | string {
  if (value === undefined) return "the body must be JSON";
  if (isBatch && !Array.isArray(value)) return "a batch of events is an array";
  const events: CloudEvent[] = [];
  for (const entry of isBatch ? (value as unknown[]) : [value]) {
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
      return "an event is an object";
    }
    const { data_base64: encoded, ...rest } = entry as Record<string, unknown>;
    const fault = faultOf(rest);
    if (fault !== undefined) return fault;
    const event = encoded == null ? rest : withDecoded(rest, encoded);
    if (typeof event === "string") return event;
    events.push(event as CloudEvent);
  }
  return events;
}

/** An event whose data came as the base64 of its bytes, in the shape that it has in the other forms. */
function withDecoded(event: Record<string, unknown>, encoded: unknown): object | string {
  if ("data" in event) return "an event has data or data_base64, not both";
  const bytes = Buffer.from(typeof encoded === "string" ? encoded : "", "base64");
  // Buffer skips whatever is no base64.
  if (bytes.toString("base64") !== encoded) return "data_base64 must be base64";
  const text = decodeUtf8(bytes, 0, bytes.length);
  if (text === undefined) return "the bytes in data_base64 must be UTF-8";
  const { datacontenttype } = event;
  return withData(event, mediaType(String(datacontenttype ?? "")), text);
}

/** In the binary form the headers are the event, and the body is its data. */
function fromHeaders(
  headers: IncomingHttpHeaders,
  type: string,
  body: string,
): readonly CloudEvent[] | string {
  const attributes: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(headers)) {
    // Data is no attribute, and comes in the body.
    if (name.startsWith("ce-") && name !== "ce-data" && typeof value === "string") {
      attributes[name.slice(3)] = unescaped(value);
    }
  }
  const fault = faultOf(attributes);
  if (fault !== undefined) return fault;
  if (type !== "") attributes.datacontenttype = type;
  const event = withData(attributes, type, body);
  return typeof event === "string" ? event : [event as CloudEvent];
}

/** What is not JSON by its media type is text; no type stands for JSON. */
function withData(event: object, type: string, text: string): object | string {
  if (text === "") return event;
  const isJson = type === "" || /^application\/(.+\+)?json$/.test(type);
  const data = isJson ? parseJson(text) : text;
  return data === undefined
    ? "the data must be JSON, as its content type says"
    : { ...event, data };
}

function faultOf(attributes: Readonly<Record<string, unknown>>): string | undefined {
  if (attributes.specversion !== "1.0") return 'the attribute "specversion" must be "1.0"';
  const missing = required.find((name) => {
    const value = attributes[name];
    return typeof value !== "string" || value === "";
  });
  return missing === undefined ? undefined : `the attribute "${missing}" must be a text`;
}

function mediaType(contentType = ""): string {
  return (contentType.split(";")[0] ?? "").trim().toLowerCase();
}

/** Headers hold ASCII; the rest is escaped in them by percent signs. */
function unescaped(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
