/** Whole requests and responses: forms and lines, which are not one JSON text. */
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { fetchHandler } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { send } from "../transports/http/wire.ts";
import { type Conversation, conversationsOf } from "./conversation.ts";
import { serverOf } from "./profiles.ts";
import { expectReply } from "./transcript.ts";

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly coding: string;
  readonly text: string;
}

interface Coding {
  compress(text: string): Buffer;
  inflate(bytes: Buffer): Buffer;
}

const codings = new Map<string | undefined, Coding>([
  ["gzip", { compress: gzipSync, inflate: gunzipSync }],
  ["br", { compress: brotliCompressSync, inflate: brotliDecompressSync }],
]);

async function byNode({ headers, body }: Sent): Promise<Reply> {
  const http = await serveHttp(serverOf("default"), { port: 0 });
  onTestFinished(() => http.close());
  const reply = await send(http.port, { headers, body });
  return replyOf(reply.status, new Headers(reply.headers as Record<string, string>), reply.body);
}

async function byFetch({ headers, body }: Sent): Promise<Reply> {
  const handle = fetchHandler(serverOf("default"));
  const url = "http://127.0.0.1/rpc";
  const response = await handle(
    new Request(url, { method: "POST", headers, body: Buffer.from(body) }),
  );
  return replyOf(response.status, response.headers, Buffer.from(await response.arrayBuffer()));
}

function replyOf(status: number, headers: Headers, body: Buffer): Reply {
  const coding = headers.get("content-encoding") ?? "";
  const text = `${codings.get(coding)?.inflate(body) ?? body}`;
  return { status, type: headers.get("content-type") ?? "", coding, text };
}

function sentIn({ lines }: Conversation): Sent {
  const [, ...rest] = lines.filter(({ isSent }) => isSent).map(({ text }) => text);
  const end = rest.indexOf("");
  const headers = rest.slice(0, end).map((line) => line.split(": ", 2) as [string, string]);
  const own = Object.fromEntries(headers);
  // A form ends its lines as headers do, and JSON may.
  const body = rest.slice(end + 1).join("\r\n");
  return { headers: own, body: codings.get(own["Content-Encoding"])?.compress(body) ?? body };
}

/** Every sender of a form chooses its own boundary. */
function withoutBoundary({ type, text }: Reply): string {
  const [, boundary = ""] = /boundary="?([^";]+)/.exec(type) ?? [];
  return boundary === "" ? text : text.replaceAll(boundary, "B");
}

describe.each(Object.entries({ Node: byNode, fetch: byFetch }))("over HTTP with %s", (_, by) => {
  describe.each(["files", "uploads", "compression"])("%s", (topic) => {
    test.each(conversationsOf(`http/${topic}.txt`))("$title", async (conversation) => {
      const reply = await by(sentIn(conversation));
      const [head = "", ...body] = conversation.lines
        .filter(({ isSent }) => !isSent)
        .map(({ text }) => text);
      const { status, type, coding } = reply;
      expect(`${status} ${type.replace(/;.*/, "")} ${coding}`.trimEnd()).toBe(head);
      const text = withoutBoundary(reply);
      if (type === "application/json") expectReply(text, { text: body.join(""), exact: false });
      else expect(text.split(/\r?\n/)).toEqual(body);
    });
  });
});
