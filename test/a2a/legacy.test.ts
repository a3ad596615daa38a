import { describe, expect, test } from "vitest";
import { all, gate, serveAgent } from "./served-agent.ts";

const old = { "a2a-version": "" };
const says = (text: string, more: object = {}) => ({
  message: {
    kind: "message",
    messageId: "m",
    role: "user",
    parts: [{ kind: "text", text }],
    ...more,
  },
});

describe("a client of A2A 0.3", () => {
  test("gets a bare task, with kinds and states in lower case", async () => {
    const { ask } = await serveAgent({
      async *execute({ text }) {
        yield { data: { text } };
        yield { raw: "AA==", filename: "a.bin", mediaType: "application/octet-stream" };
        yield { state: "input-required", message: "More?" };
      },
    });
    const { result } = await ask("message/send", says("hi"), old);
    expect(result).toMatchObject({
      kind: "task",
      status: {
        state: "input-required",
        message: { kind: "message", role: "agent", parts: [{ kind: "text", text: "More?" }] },
      },
      artifacts: [
        {
          parts: [
            { kind: "data", data: { text: "hi" } },
            {
              kind: "file",
              file: { bytes: "AA==", name: "a.bin", mimeType: "application/octet-stream" },
            },
          ],
        },
      ],
    });
    const { id } = result;
    expect((await ask("tasks/get", { id }, old)).result).toMatchObject({ kind: "task", id });
    expect((await ask("tasks/cancel", { id }, old)).result.status.state).toBe("canceled");
    expect((await ask("tasks/get", { id: "none" }, old)).error?.code).toBe(-32001);
  });

  test("gets a stream whose last status is final, and can subscribe again", async () => {
    const { passed, open } = gate();
    const { ask, events } = await serveAgent({
      async *execute() {
        yield { state: "working" };
        await passed;
        yield "done";
      },
    });
    const params = { ...says("hi"), configuration: { blocking: false } };
    const { id } = (await ask("message/send", params, old)).result;
    const reader = events("tasks/resubscribe", { id }, old);
    expect((await reader.next()).value.result).toMatchObject({ kind: "task", id });
    open();
    const rest = (await all(reader)).map(({ result }) => [result.kind, result.final]);
    expect(rest.slice(-2)).toEqual([
      ["artifact-update", undefined],
      ["status-update", true],
    ]);
  });

  test("gets a bare message from an agent that answers directly", async () => {
    const { ask } = await serveAgent({ execute: ({ parts }) => JSON.stringify(parts) });
    const parts = [
      { kind: "file", file: { uri: "https://example.com/a", mimeType: "text/plain", name: "a" } },
    ];
    const { result } = await ask("message/send", says("", { parts }), old);
    expect(result).toMatchObject({ kind: "message", role: "agent" });
    expect(JSON.parse(result.parts[0].text)).toEqual([
      { url: "https://example.com/a", mediaType: "text/plain", filename: "a" },
    ]);
  });

  test("gets the name of the wrong member", async () => {
    const { ask } = await serveAgent({ execute: () => "hi" });
    const { error } = await ask("message/send", says("", { parts: [{ kind: "odd" }] }), old);
    expect(error?.code).toBe(-32602);
    expect((await ask("message/send", {}, old)).error?.code).toBe(-32602);
  });
});
