import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer as createHttpServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { createServer } from "callwire";
import { playgroundHandler, serveHttp } from "callwire/http/node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build } from "../cli/process.ts";
import { root } from "../entries.ts";

const server = createServer({ add: (a: number, b: number) => a + b });
const other = createServer({});
let origin: string;

beforeAll(async () => {
  await build();
  const mounts = { "/other": other };
  const http = await serveHttp(server, { port: 0, playground: true, mounts });
  origin = new URL(http.url).origin;
});

afterAll(async () => {
  await Promise.all([server.close(), other.close()]);
});

test("the page is at the root, with a policy that allows nothing inline and no other host", async () => {
  const response = await fetch(`${origin}/`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy.split("; ")).toEqual([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  const html = await response.text();
  expect(html).not.toMatch(/<style|style=|<script(?![^>]* src=)|\son\w+=/);
  expect(html).not.toMatch(/(src|href)="(?!\.\/assets\/)/);
});

test("assets are cached for good, and the page is revalidated", async () => {
  const page = await fetch(`${origin}/`);
  const [asset = ""] = /assets\/[^"]+\.js/.exec(await page.text()) ?? [];
  expect(page.headers.get("cache-control")).toBe("no-cache");
  const tag = page.headers.get("etag") ?? "";
  const again = await fetch(`${origin}/`, { headers: { "if-none-match": tag } });
  expect(again.status).toBe(304);
  const script = await fetch(`${origin}/${asset}`);
  expect(script.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
  expect(script.headers.get("cache-control")).toContain("immutable");
  expect(script.headers.get("content-encoding")).toBe("gzip");
  expect(await script.text()).toContain("callwire");
});

test("a client without gzip gets the plain file, and HEAD gets no body", async () => {
  const plain = await fetch(`${origin}/`, { headers: { "accept-encoding": "identity" } });
  expect(plain.headers.get("content-encoding")).toBeNull();
  const head = await fetch(`${origin}/`, { method: "HEAD" });
  expect(head.status).toBe(200);
  expect(await head.text()).toBe("");
});

test("all of it takes less than 250 kB", () => {
  const folder = `${root}dist/playground/`;
  const assets = readdirSync(`${folder}assets`).map((name) => `assets/${name}`);
  const sizes = ["index.html", ...assets].map(
    (name) => gzipSync(readFileSync(folder + name)).length,
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  expect(total).toBeGreaterThan(10_000);
  expect(total).toBeLessThan(250_000);
});

test("the page gets the endpoints that it can call", async () => {
  const response = await fetch(`${origin}/playground.json`);
  expect(await response.json()).toEqual({ endpoints: ["/rpc", "/other"] });
});

test("other paths and verbs are what they were", async () => {
  expect((await fetch(`${origin}/healthz`)).status).toBe(200);
  expect((await fetch(`${origin}/nothing`)).status).toBe(404);
  expect((await fetch(`${origin}/assets/../../package.json`)).status).toBe(404);
  expect((await fetch(`${origin}/`, { method: "POST", body: "{}" })).status).toBe(405);
});

test("a name that was rebound to this machine gets no page", async () => {
  const status = await new Promise((resolve, reject) => {
    const { port } = new URL(origin);
    const headers = { host: "evil.example" };
    request({ host: "127.0.0.1", port, path: "/", headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
  expect(status).toBe(403);
});

test("a service at the root leaves no place for the page", async () => {
  await expect(serveHttp(other, { port: 0, path: "/", playground: true })).rejects.toThrow(
    'the playground is at "/"',
  );
});

test("without the option there is no page", async () => {
  await using http = await serveHttp(other, { port: 0 });
  expect((await fetch(`${new URL(http.url).origin}/`)).status).toBe(404);
});

test("any server of Node's can have the page", async () => {
  const http = createHttpServer(playgroundHandler({ endpoints: ["/api"], target: "tcp://there" }));
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const own = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  expect((await fetch(`${own}/`)).status).toBe(200);
  expect((await fetch(`${own}/else`)).status).toBe(404);
  const told = await (await fetch(`${own}/playground.json`)).json();
  expect(told).toEqual({ endpoints: ["/api"], target: "tcp://there" });
  http.closeAllConnections();
  http.close();
});
