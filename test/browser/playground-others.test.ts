import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { build, Process, start } from "../cli/process.ts";
import { root } from "../entries.ts";
import { describeWith } from "../services.ts";
import { launchChromium, openPage } from "./launch.ts";
import { call, connected, outcome, rows } from "./playground-page.ts";

const services = ["playwright", "chromium", "npm peers"];

/** The command line looks for a WebSocket, which these servers do not have. */
function isForeign(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.method !== "POST") response.writeHead(404).end();
  return request.method !== "POST";
}

describeWith(services, "the playground of servers that callwire did not make", () => {
  let browser: Browser;

  beforeAll(async () => {
    await build();
    browser = await launchChromium();
  });

  afterAll(() => browser?.close());

  async function served(name: string): Promise<Process & { readonly url: string }> {
    const peer = new Process(process.execPath, [
      `${root}test/interop/fixtures/conformance-peer.mjs`,
      name,
    ]);
    const [url] = await peer.shown(/\w+:\/\/\S+/);
    return Object.assign(peer, { url });
  }

  /** A server that describes itself so, and answers every other call with this text. */
  async function describing(
    description: object,
    answer: (call: { readonly method: string }) => string,
  ): Promise<AsyncDisposable & { readonly url: string }> {
    const server = createServer(async (request, response) => {
      if (isForeign(request, response)) return;
      const asked = (await json(request)) as { method: string; id: number };
      const isDescription = asked.method === "rpc.discover";
      const text = isDescription ? JSON.stringify(description) : answer(asked);
      response.setHeader("content-type", "application/json");
      response.end(`{"jsonrpc":"2.0","id":${asked.id},"result":${text}}`);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const close = (): void => void server.close().closeAllConnections();
    return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => close() };
  }

  async function playground(url: string): Promise<Process & { readonly page: string }> {
    const own = start(["playground", url, "--port", "0"]);
    const [page] = await own.shown(/http:\/\/127\.0\.0\.1:\d+\/$/m);
    return Object.assign(own, { page });
  }

  test("a server with only an OpenRPC document is listed and called", async () => {
    await using peer = await served("open-rpc");
    await using own = await playground(peer.url);
    await using page = await openPage(browser, own.page);
    await connected(page);
    await page.getByRole("heading", { name: "add" }).waitFor();
    expect(await page.locator(".server").innerText()).toBe("peer 1.0.0");
    await page.getByRole("textbox", { name: /^a/ }).fill("2");
    await page.getByRole("textbox", { name: /^b/ }).fill("40");
    await call(page);
    expect(await outcome(page).getByRole("region", { name: "Result" }).innerText()).toBe("42");
    expect(page.complaints).toEqual([]);
  });

  test("one whose description is circular and partly invalid can still be called", async () => {
    const self = { $ref: "#/components/schemas/Self%20" };
    const schemas = [
      self,
      { type: "array", items: 7 },
      { type: "object", properties: { a: { type: "object", required: true } }, required: ["a"] },
      { type: "object", properties: null },
    ];
    const result = {
      openrpc: "1.3.2",
      methods: schemas.map((schema, i) => ({
        name: `odd${i}`,
        params: [{ name: "value", required: true, schema }],
      })),
      components: { schemas: { "Self ": { anyOf: [self, { allOf: [self] }, { not: self }] } } },
    };
    await using peer = await describing(result, ({ method }) => JSON.stringify(method));
    await using own = await playground(peer.url);
    await using page = await openPage(browser, own.page);
    await connected(page);
    for (const { name } of result.methods) {
      await page.getByRole("navigation").getByRole("button", { name }).click();
      await page.getByRole("heading", { name }).waitFor();
      await call(page);
      const shown = outcome(page).getByRole("region", { name: "Result" });
      expect(await shown.innerText()).toBe(`"${name}"`);
    }
    expect(page.complaints).toEqual([]);
  });

  test("long words and deeply nested answers do not break the layout", async () => {
    const word = "word".repeat(1_000);
    const methods = ["deep", "flat"].map((name) => ({ name, summary: word, params: [] }));
    const result = { openrpc: "1.3.2", info: { title: word, version: "1" }, methods };
    await using peer = await describing(result, ({ method }) =>
      method === "deep" ? "[".repeat(20_000) + "]".repeat(20_000) : "1",
    );
    await using own = await playground(peer.url);
    await using page = await openPage(browser, own.page);
    await connected(page);
    const shown = outcome(page).getByRole("region", { name: "Result" });
    for (const [name, text] of [
      ["deep", "nested too deep to be shown; the message is on the wire"],
      ["flat", "1"],
    ] as const) {
      await page.getByRole("navigation").getByRole("button", { name }).click();
      await page.getByRole("heading", { name }).waitFor();
      await call(page);
      expect(await shown.innerText()).toBe(text);
    }
    const connect = await page.getByRole("button", { name: "Connect" }).boundingBox();
    expect(connect?.x).toBeLessThan(page.viewportSize()?.width ?? 0);
    expect(page.complaints).toEqual([]);
  });

  test("one without a description is not shown as a failure, and only its wires are offered", async () => {
    const server = createServer(async (request, response) => {
      if (isForeign(request, response)) return;
      const { id = null } = (await json(request)) as { id?: number };
      const error = { code: -32601, message: "Method not found" };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", error, id }));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close().closeAllConnections());
    const { port } = server.address() as AddressInfo;
    await using own = await playground(`http://127.0.0.1:${port}`);
    await using page = await openPage(browser, own.page);
    await page.getByText("No description").waitFor();
    await page.getByText("This server does not list its methods, which is optional.").waitFor();
    expect(await page.getByRole("main").getByText("Method not found").count()).toBe(0);
    expect(await page.getByRole("main").locator(".fault").count()).toBe(0);
    expect(await page.getByRole("group", { name: "Wire" }).getByRole("radio").count()).toBe(1);
    expect(page.complaints).toEqual([]);
  });

  test("one without a description is called by name, over its WebSocket", async () => {
    await using peer = await served("rpc-websockets");
    await using own = await playground(peer.url);
    await using page = await openPage(browser, own.page);
    await page.getByText("No description").waitFor();
    expect(await page.getByRole("radio", { name: "WebSocket" }).isChecked()).toBe(true);
    await page.getByRole("searchbox", { name: "Search methods" }).fill("add");
    await page.getByRole("button", { name: "Call “add” all the same" }).click();
    await page.getByRole("textbox", { name: "params as JSON" }).press("Control+A");
    await page.keyboard.type("[2, 3");
    await call(page);
    expect(await outcome(page).getByRole("region", { name: "Result" }).innerText()).toBe("5");
    await rows(page, /result add/).waitFor();
    expect(page.complaints).toEqual([]);
  });
});
