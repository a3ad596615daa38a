import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { expect, onTestFinished, test } from "vitest";
import { RecordingLog } from "../server/asking.ts";

test("a handler in mounts that throws or rejects fails its request, and not the process", async () => {
  const log = new RecordingLog();
  const server = createServer({ add: (a: number, b: number) => a + b }, { log });
  onTestFinished(() => server.close());
  const http = await serveHttp(server, {
    port: 0,
    mounts: {
      "/throws": () => {
        throw new Error("of its own");
      },
      "/rejects": async (_, response) => {
        response.write("a beginning");
        await Promise.reject(new Error("of its own"));
      },
    },
  });
  const base = `http://127.0.0.1:${http.port}`;
  const thrown = await fetch(`${base}/throws`);
  expect([thrown.status, await thrown.text()]).toEqual([500, ""]);
  await expect(fetch(`${base}/rejects`).then((begun) => begun.text())).rejects.toThrow();
  expect(log.entries.filter(({ message }) => message === "an HTTP handler failed")).toHaveLength(2);
  expect((await fetch(`${base}/healthz`)).status).toBe(200);
});
