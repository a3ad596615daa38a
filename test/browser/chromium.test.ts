import type { RequestListener } from "node:http";
import { type HttpServer, type ServeHttpOptions, serveHttp } from "callwire/http/node";
import { build } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build as buildPackage } from "../cli/process.ts";
import { root } from "../entries.ts";
import { isFull } from "../full.ts";
import { portableServer } from "../runtimes/portable-methods.mjs";
import { describeWith } from "../services.ts";
import { launchChromium, openPage, type WatchedPage } from "./launch.ts";

// The built package, as bundlers take it for browsers, in a page of Chromium.

describeWith(["playwright", "chromium"], "a page in Chromium", () => {
  let browser: Browser;
  let files: ReadonlyMap<string, string>;

  beforeAll(async () => {
    [browser, files] = await Promise.all([launchChromium(), pageFiles()]);
  });

  afterAll(() => browser?.close());

  test("calls over HTTP, events and WebSocket, and a worker", async () => {
    await using site = await openSite(files);
    await using page = await openReady(browser, site.url);
    const lines = await page.evaluate<string[]>("ownPage()");
    expect(lines.filter((line) => !line.startsWith("ok - "))).toEqual([]);
    expect(lines.length).toBeGreaterThan(30);
    expect(page.complaints).toEqual([]);
  });

  test("runs the conformance kit over fetch and WebSocket", async () => {
    await using site = await openSite(files);
    await using page = await openReady(browser, site.url);
    const groups = isFull ? "undefined" : '["core", "batch", "security"]';
    const reports = await page.evaluate<{ passed: number }[]>(`conformance(${groups})`);
    expect(reports).toMatchObject([
      { wire: "HTTP", state: "finished", failed: [] },
      { wire: "WebSocket", state: "finished", failed: [] },
    ]);
    for (const { passed } of reports) expect(passed).toBeGreaterThan(isFull ? 80 : 30);
  });

  test("of another origin cannot call", async () => {
    await using site = await openSite(files);
    await using elsewhere = await openSite(files);
    await using page = await openReady(browser, elsewhere.url);
    expect(await page.evaluate(`foreignPage("${site.origin}")`)).toEqual({
      call: "CONNECTION_LOST",
      blind: "opaque",
      socket: "CONNECTION_FAILED",
      events: "refused",
    });
    expect(site.statuses).toEqual(["OPTIONS 204", "POST 403", "GET 403"]);
    expect(page.complaints).toContainEqual(
      expect.stringMatching(/^WebSocket .* failed: .*Unexpected response code: 403$/),
    );
  });

  test("of an origin that the server lists may call", async () => {
    await using elsewhere = await openSite(files);
    await using site = await openSite(files, { origins: [elsewhere.origin] });
    await using page = await openReady(browser, elsewhere.url);
    expect(await page.evaluate(`foreignPage("${site.origin}")`)).toEqual({
      call: "foreign",
      blind: "opaque",
      socket: "connected",
      events: "an event",
    });
    // It is allowed, but only as JSON.
    expect(page.complaints).toEqual([expect.stringContaining("415 (Unsupported Media Type)")]);
  });
});

/** The page and its worker, bundled from dist/ with the condition `browser`. */
async function pageFiles(): Promise<ReadonlyMap<string, string>> {
  await buildPackage();
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["test/browser/page.mjs", "test/browser/worker.mjs"],
    outdir: "/",
    write: false,
    bundle: true,
    format: "esm",
    platform: "browser",
    // The paths of tsconfig.json lead to the sources; users get dist/.
    tsconfigRaw: {},
  });
  const scripts = outputFiles.map(({ path, text }) => [path, text] as const);
  const html = `<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>`;
  return new Map([["/", html], ...scripts]);
}

interface Site extends AsyncDisposable {
  readonly url: string;
  readonly origin: string;
  /** The requests to the service and their responses, in order. */
  readonly statuses: readonly string[];
}

/** The page and the service on one origin. */
async function openSite(
  files: ReadonlyMap<string, string>,
  options: ServeHttpOptions = {},
): Promise<Site> {
  const http = await serveHttp(portableServer(), { port: 0, ...options });
  const statuses: string[] = [];
  const [service] = http.server.listeners("request") as [RequestListener];
  http.server.removeAllListeners("request");
  http.server.on("request", (request, response) => {
    const file = files.get(request.url ?? "");
    if (file === undefined) {
      response.once("finish", () => statuses.push(`${request.method} ${response.statusCode}`));
      service(request, response);
      return;
    }
    const type = request.url?.endsWith(".js") ? "text/javascript" : "text/html";
    response.setHeader("content-type", `${type}; charset=utf-8`).end(file);
  });
  const { origin } = new URL(http.url);
  return { url: `${origin}/`, origin, statuses, [Symbol.asyncDispose]: () => closed(http) };
}

/** A closed page may still hold its connections for a moment; the test does not wait for them. */
async function closed(http: HttpServer): Promise<void> {
  http.server.closeAllConnections();
  await http.close();
}

async function openReady(browser: Browser, url: string): Promise<WatchedPage> {
  const page = await openPage(browser, url);
  await expect.poll(() => page.evaluate("globalThis.ownPage !== undefined")).toBe(true);
  return page;
}
