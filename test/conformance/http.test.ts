/** Whole requests and responses: forms and lines, which are not one JSON text. */
import { fetchHandler } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { send } from "../transports/http/wire.ts";
import { type Conversation, conversationsOf } from "./conversation.ts";
import { serverOf } from "./profiles.ts";
import { expectReply } from "./transcript.ts";

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

async function byNode({ headers, body }: Sent): Promise<Reply> {
  const http = await serveHttp(serverOf("default"), { port: 0 });
  onTestFinished(() => http.close());
  const { status, headers: own, text } = await send(http.port, { headers, body });
  return { status, type: own["content-type"] ?? "", text };
}

async function byFetch({ headers, body }: Sent): Promise<Reply> {
  const handle = fetchHandler(serverOf("default"));
  const url = "http://127.0.0.1/rpc";
  const response = await handle(new Request(url, { method: "POST", headers, body }));
  const { status } = response;
  return { status, type: response.headers.get("content-type") ?? "", text: await response.text() };
}

function sentIn({ lines }: Conversation): Sent {
  const [, ...rest] = lines.filter(({ isSent }) => isSent).map(({ text }) => text);
  const end = rest.indexOf("");
  const headers = rest.slice(0, end).map((line) => line.split(": ", 2) as [string, string]);
  // A form ends its lines as headers do, and JSON may.
  return { headers: Object.fromEntries(headers), body: rest.slice(end + 1).join("\r\n") };
}

/** Every sender of a form chooses a boundary of its own. */
function withoutBoundary({ type, text }: Reply): string {
  const [, boundary = ""] = /boundary="?([^";]+)/.exec(type) ?? [];
  return boundary === "" ? text : text.replaceAll(boundary, "B");
}

describe.each(Object.entries({ Node: byNode, fetch: byFetch }))("over HTTP with %s", (_, by) => {
  describe.each(["files", "uploads"])("%s", (topic) => {
    test.each(conversationsOf(`http/${topic}.txt`))("$title", async (conversation) => {
      const reply = await by(sentIn(conversation));
      const [head = "", ...body] = conversation.lines
        .filter(({ isSent }) => !isSent)
        .map(({ text }) => text);
      expect(`${reply.status} ${reply.type.replace(/;.*/, "")}`).toBe(head);
      const text = withoutBoundary(reply);
      if (head.endsWith("/json")) expectReply(text, { text: body.join(""), exact: false });
      else expect(text.split(/\r?\n/)).toEqual(body);
    });
  });
});
