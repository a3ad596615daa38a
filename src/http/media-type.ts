/** The media types of JSON-RPC, matched as a whole: browsers send `text/plain; application/json` without a preflight. */
const jsonType = /^application\/(?:json|json-rpc|jsonrequest)[ \t]*(?:;(.*))?$/i;
const parameter =
  /[ \t]*([\w!#$%&'*+.^`|~-]+)=(?:([\w!#$%&'*+.^`|~-]+)|"((?:[^"\\]|\\.)*)")[ \t]*(?:;|$)/y;

export function isJsonType(contentType: string | undefined): boolean {
  if (contentType === "application/json") return true;
  if (contentType === undefined) return false;
  const [whole, parameters = ""] = jsonType.exec(contentType.trim()) ?? [];
  return whole !== undefined && isUtf8(parameters);
}

const linesType = /^application\/(?:x-ndjson|ndjson|jsonl)[ \t]*(?:;(.*))?$/i;

/** Whether a body has a message in each line: a request, and the items that it uploads. */
export function isLinesType(contentType: string | undefined): boolean {
  const [whole, parameters = ""] = linesType.exec(contentType?.trim() ?? "") ?? [];
  return whole !== undefined && isUtf8(parameters);
}

/** Whether the parameters are well-formed, with no charset other than UTF-8. */
function isUtf8(parameters: string): boolean {
  const text = parameters.trim();
  let at = 0;
  while (at < text.length) {
    parameter.lastIndex = at;
    const [whole, name = "", token, quoted] = parameter.exec(text) ?? [];
    if (whole === undefined) return false;
    const value = token ?? quoted ?? "";
    if (name.toLowerCase() === "charset" && value.toLowerCase() !== "utf-8") return false;
    at += whole.length;
  }
  return true;
}

/** Whether a client accepts bytes beside the reply. */
export function acceptsParts(accept: string | undefined): boolean {
  // Most clients do not accept it, and a search takes less time than the expression.
  if (accept?.includes("multipart/") !== true) return false;
  return /(?:^|,)\s*multipart\/form-data\s*(?:,|$)/i.test(accept);
}

const eventType = /text\/event-stream/i;

/** What a client accepts as a reply. */
export type ReplyForm =
  | "json"
  /** JSON, or events if items or progress come before the reply. */
  | "either"
  | "events";

export function replyForm(accept: string | undefined): ReplyForm {
  switch (accept) {
    case undefined:
    case "*/*":
    case "application/json":
      return "json";
    case "application/json, text/event-stream":
    case "application/json, text/event-stream, multipart/form-data":
      return "either";
  }
  // Most clients do not mention events, and a search takes less time than the ranges.
  if (!eventType.test(accept)) return "json";
  let json = false;
  let events = false;
  for (const range of accept.split(",")) {
    const [type = "", ...parameters] = range.split(";");
    if (parameters.some((each) => /^\s*q\s*=\s*0(\.0*)?\s*$/i.test(each))) continue;
    const name = type.trim().toLowerCase();
    if (name === "text/event-stream") events = true;
    else if (name === "*/*" || name === "application/*" || isJsonType(name)) json = true;
  }
  // A client that takes anything did not ask for events.
  if (!events) return "json";
  return json ? "either" : "events";
}
