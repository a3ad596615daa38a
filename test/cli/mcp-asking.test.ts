/** The questions of servers to the user at the terminal. */
import { stripVTControlCharacters } from "node:util";
import { createServer, silentLog } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { McpError, mcpMounts, mcpServer, tool } from "callwire/mcp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isFull } from "../full.ts";
import { describeWith } from "../services.ts";
import { build, finish, type Process, startInTerminal } from "./process.ts";

let http: HttpServer;
let url: string;
let visited = false;

const requestedSchema = {
  type: "object",
  properties: {
    name: { type: "string", title: "Your name", description: "As it is spoken", minLength: 2 },
    age: { type: "integer", minimum: 18 },
    color: {
      type: "string",
      oneOf: [
        { const: "#f00", title: "Red" },
        { const: "#0f0", title: "Green" },
      ],
    },
    sizes: { type: "array", items: { type: "string", enum: ["S", "M", "L"] } },
    sure: { type: "boolean" },
    note: { type: "string" },
    town: { type: "string", default: "Rome" },
  },
  required: ["name", "age", "color", "sizes", "sure"],
} as const;

const server = mcpServer(
  {
    asks: tool({}, async (_, call) =>
      JSON.stringify(await call.elicit("Who are you?\u001b[2J", requestedSchema)),
    ),
    sends: tool({}, async (_, call) => {
      const { action } = await call.elicitUrl("Pay here", "https://example.com/pay?id=1");
      return action;
    }),
    twice: tool({}, async (_, call) => {
      const form = { type: "object", properties: { ok: { type: "string" } } } as const;
      const both = await Promise.all([
        call.elicit("First?", form, { key: "a" }),
        call.elicit("Second?", form, { key: "b" }),
      ]);
      return both.map(({ content }) => content?.ok).join(" ");
    }),
    pays: tool({}, () => {
      if (visited) return "paid";
      visited = true;
      const page = {
        mode: "url",
        elicitationId: "1",
        url: "https://example.com/pay",
        message: "Pay",
      };
      throw new McpError(-32042, "Pay first", { elicitations: [page] });
    }),
  },
  { name: "test", version: "1", log: silentLog },
);

beforeAll(async () => {
  await build();
  http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(server) });
  url = new URL("/mcp", http.url).href;
});

afterAll(async () => {
  await http.close();
  await server.close();
});

/** Answers each question when it is shown. */
async function answering(
  process: Process,
  answers: readonly (readonly [question: RegExp, typed: string])[],
): Promise<void> {
  for (const [question, typed] of answers) {
    await process.shown(question);
    process.stdout = "";
    process.child.stdin?.write(typed);
  }
}

/** The last line, without the sequences that move the cursor. */
function lastLine(text: string): string | undefined {
  return stripVTControlCharacters(text).trim().split("\r\n").at(-1)?.trim();
}

describeWith(["pseudo-terminals"], "at a terminal", () => {
  test("a form is filled in field by field, and mistakes are reported", async () => {
    await using process = startInTerminal(["mcp", url, "call", "asks"]);
    await answering(process, [
      [/Who are you\?\\u001b\[2J[\s\S]*As it is spoken[\s\S]*Your name \(text\): /, "A\n"],
      [/must have at least 2 characters[\s\S]*Your name/, "Ada\n"],
      [/age \(a whole number\): /, "x\n"],
      [/must be a number[\s\S]*age/, "17\n"],
      [/must be at least 18[\s\S]*age/, "36\n"],
      [/1\. Red[\s\S]*2\. Green[\s\S]*color \(a number from the list\): /, "3\n"],
      [/must be a number from 1 to 2[\s\S]*color/, "2\n"],
      [/sizes \(comma-separated numbers\): /, "1, L\n"],
      [/sure \(y or n\): /, "\n"],
      [/is required[\s\S]*sure/, "n\n"],
      [/note \(text, optional\): /, "\n"],
      [/town \(text, default "Rome"\): /, "\n"],
      [/Send this\?/, "\n"],
    ]);
    const { code, stdout } = await process.exited;
    expect(JSON.parse(lastLine(stdout)?.replace(/^.*?\{/, "{") ?? "")).toEqual({
      action: "accept",
      content: {
        name: "Ada",
        age: 36,
        color: "#0f0",
        sizes: ["S", "L"],
        sure: false,
        town: "Rome",
      },
    });
    expect(code).toBe(0);
  });

  if (isFull)
    test("the time of a person is not that of the server", async () => {
      await using process = startInTerminal(["mcp", url, "call", "sends", "--timeout", "4000ms"]);
      await process.shown(/Visit this page\?/);
      // Longer than the server might take, which can be long on a busy machine.
      await new Promise((resolve) => setTimeout(resolve, 4_200));
      process.child.stdin?.write("v\n");
      expect(lastLine((await process.exited).stdout)).toBe("accept");
    });

  test("the form is declined with Ctrl-D, and at the end", async () => {
    await using process = startInTerminal(["mcp", url, "call", "asks"]);
    await answering(process, [[/Your name/, "\u0004"]]);
    const { code, stdout } = await process.exited;
    expect([code, lastLine(stdout)]).toEqual([0, '{"action":"decline"}']);
    await using other = startInTerminal(["mcp", url, "call", "twice"]);
    await answering(other, [
      [/First\?[\s\S]*ok/, "1\n"],
      [/Send this/, "n\n"],
      [/Second\?[\s\S]*ok/, "2\n"],
      [/Send this/, "y\n"],
    ]);
    expect(lastLine((await other.exited).stdout)).toBe("2");
  });

  test("a page is shown, and opened only by the user", async () => {
    await using process = startInTerminal(["mcp", url, "call", "sends"]);
    await answering(process, [
      [/Pay here[\s\S]*https:\/\/example\.com\/pay\?id=1[\s\S]*Visit this page\?/, "what\n"],
      [/Visit this page\?/, "v\n"],
    ]);
    expect(lastLine((await process.exited).stdout)).toBe("accept");
    await using other = startInTerminal(["mcp", url, "call", "sends"]);
    await answering(other, [[/Visit this page\?/, "n\n"]]);
    expect(lastLine((await other.exited).stdout)).toBe("decline");
  });

  test("a call that needs a visit first is repeated afterwards", async () => {
    visited = false;
    await using process = startInTerminal(["mcp", url, "call", "pays"]);
    await answering(process, [[/Visit this page\?/, "v\n"]]);
    expect(lastLine((await process.exited).stdout)).toBe("paid");
  });

  test("Ctrl-C ends it, in the middle of a form", async () => {
    await using process = startInTerminal(["mcp", url, "call", "asks"]);
    await answering(process, [[/Your name/, "\u0003"]]);
    const { code, stdout } = await process.exited;
    expect([code, lastLine(stdout)]).toEqual([130, "callwire: cancelled"]);
  });
});

describe("without a terminal", () => {
  test("a question of the server fails with an error that a terminal is required", async () => {
    visited = false;
    expect(await finish(["mcp", url, "call", "asks"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /did not declare the capability elicitation .*; run this in a terminal/,
      ),
    });
    expect(await finish(["mcp", url, "call", "pays"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/-32042 Pay first .*; run this in a terminal to see the page/),
    });
  });
});
