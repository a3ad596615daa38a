import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { type PendingBytes, pendingAfter } from "../../framing/pending-bytes.ts";
import { decodeUtf8 } from "../../framing/utf8.ts";
import type { Clock } from "../../protocol/clock.ts";

/**
 * Collects a body up to a limit, or takes what a body parser made of it. Undefined is found where
 * the bytes are not UTF-8; `isExact` says that the text is what was sent, letter by letter.
 */
export function readBody(
  incoming: IncomingMessage,
  maxBytes: number,
  found: (text: string | undefined, isExact: boolean) => void,
  tooLarge: () => void,
): void {
  const request = incoming as IncomingMessage & { body?: unknown; _body?: boolean };
  if (request._body === true || request.readableEnded) {
    const { body } = request;
    found(textOf(body), body instanceof Uint8Array || typeof body === "string");
    return;
  }
  let first: Buffer | undefined;
  let all: PendingBytes | undefined;
  let length = 0;
  const collect = (chunk: Buffer): void => {
    length += chunk.length;
    if (length > maxBytes) {
      request.off("data", collect);
      request.off("end", finish);
      tooLarge();
    } else if (first === undefined) first = chunk;
    else {
      // Not kept one by one: of a byte each, they would take a hundred times their length.
      all ??= pendingAfter(first);
      all.append(chunk, 0, chunk.length);
    }
  };
  const finish = (): void => {
    const only = first === undefined ? "" : decodeUtf8(first, 0, first.length);
    found(all === undefined ? only : all.takeText(), true);
  };
  request.on("data", collect);
  request.on("end", finish);
}

function textOf(body: unknown): string | undefined {
  if (body instanceof Uint8Array) return decodeUtf8(body, 0, body.length);
  if (typeof body === "string") return body;
  try {
    return JSON.stringify(body) ?? "";
  } catch {
    // A parser takes any depth, and writing overflows the stack.
    return undefined;
  }
}

/** How long a client has for sending what was refused, and for reading why. */
const lingerMs = 2_000;

/**
 * Answers at once, and closes when the client has sent all or its time is up. What is too much even then is not read:
 * to close while it comes would take the answer away from a client that has not read it yet.
 */
export function refuseBody(
  request: IncomingMessage,
  response: ServerResponse,
  answer: { readonly status: number; readonly head: OutgoingHttpHeaders; readonly body: string },
  { maxMessageBytes }: { readonly maxMessageBytes: number },
  clock: Clock,
): void {
  if (response.headersSent) return;
  let left = maxMessageBytes;
  response.writeHead(answer.status, answer.head);
  response.write(answer.body);
  const close = (): void => {
    late.cancel();
    if (!response.writableEnded) response.end();
  };
  const late = clock.after(lingerMs, close);
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.pause();
  });
  request.on("end", close);
  response.on("close", close);
}
