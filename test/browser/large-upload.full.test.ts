/** A page uploads a file that is larger than the memory which the server may use for it. */
import { createHash } from "node:crypto";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, method } from "callwire";
import { serveHttp } from "callwire/http/node";
import { build } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { build as buildPackage } from "../cli/process.ts";
import { root } from "../entries.ts";
import { describeWith } from "../services.ts";
import { launchChromium, openPage } from "./launch.ts";

const length = 500_000_000;
const timeoutMs = 600_000;

const page = `
  import { createClient } from "callwire";
  import { httpLink } from "callwire/http";

  const client = createClient(httpLink("/rpc"), { values: "rich", timeoutMs: ${timeoutMs} });
  const input = document.querySelector("input");

  /** Returns the result, or the code of the failure, and the last progress that the page saw. */
  globalThis.upload = async (cancelAt = Infinity) => {
    const controller = new AbortController();
    const { signal } = controller;
    let reports = 0, last;
    const onUploadProgress = ({ sent, total }) => {
      reports++;
      last = sent / total;
      if (last >= cancelAt) controller.abort();
    };
    const options = { signal, onUploadProgress };
    const result = await client
      .call("hash", { file: input.files[0] }, options)
      .catch(({ code }) => code);
    return { result, reports, last };
  };
`;

const html = '<input type="file"><script type="module" src="/stdin.js"></script>';

describeWith(["playwright", "chromium"], "a page that uploads 500 MB", () => {
  let browser: Browser;
  let folder: string;
  let file: string;
  let expected: string;

  beforeAll(async () => {
    await buildPackage();
    browser = await launchChromium();
    folder = await mkdtemp(join(tmpdir(), "callwire-upload-"));
    file = join(folder, "large.bin");
    expected = await writeSparse(file);
  }, timeoutMs);
  afterAll(async () => {
    await browser?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test(
    "sees its progress and can cancel, and the server needs little memory",
    async () => {
      const ends: string[] = [];
      const server = createServer({
        hash: method(
          { params: z.object({ file: z.file() }), limits: { maxFileBytes: length }, timeoutMs },
          async ({ file }) => {
            const hash = createHash("sha1");
            try {
              for await (const part of file.stream()) hash.update(part);
              ends.push("whole");
            } catch {
              ends.push("cut short");
            }
            return hash.digest("hex");
          },
        ),
      });
      const files = await pageFiles();
      const http = await serveHttp(server, {
        port: 0,
        requestTimeoutMs: timeoutMs,
        mounts: {
          "/": ({ url = "" }, response) => {
            const script = files.get(url);
            response.setHeader(
              "content-type",
              script === undefined ? "text/html" : "text/javascript",
            );
            response.end(script ?? html);
          },
        },
      });
      await using site = await openPage(browser, new URL("/", http.url).href);
      await site.waitForFunction("globalThis.upload !== undefined");
      await site.locator("input").setInputFiles(file);

      const idle = process.memoryUsage.rss();
      let most = 0;
      const timer = setInterval(() => {
        most = Math.max(most, process.memoryUsage.rss() - idle);
      }, 20);
      const whole = await site.evaluate<{ reports: number }>("upload()");
      expect(whole).toMatchObject({ result: expected, last: 1 });
      expect(whole.reports).toBeGreaterThan(10);
      const cut = await site.evaluate<{ last: number }>("upload(0.2)");
      clearInterval(timer);
      expect(cut).toMatchObject({ result: "ABORTED" });
      expect(cut.last).toBeLessThan(1);
      await expect.poll(() => ends).toEqual(["whole", "cut short"]);
      expect(Math.round(most / 1_000_000)).toBeLessThan(80);
      await server.close({ drainMs: 0 });
    },
    timeoutMs,
  );
});

/** Takes little space on the disk, and no two megabytes are equal. */
async function writeSparse(path: string): Promise<string> {
  const hash = createHash("sha1");
  const handle = await open(path, "w");
  const block = Buffer.alloc(1_000_000);
  for (let at = 0; at < length; at += block.length) {
    block.writeUInt32BE(at);
    hash.update(block);
    await handle.write(block, 0, 4, at);
  }
  await handle.truncate(length);
  await handle.close();
  return hash.digest("hex");
}

/** The page's script, bundled from dist/ with the condition `browser`. */
async function pageFiles(): Promise<ReadonlyMap<string, string>> {
  const { outputFiles } = await build({
    stdin: { contents: page, resolveDir: root },
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    outdir: "/",
    // The tsconfig.json of this repository replaces the package by its sources.
    tsconfigRaw: {},
    write: false,
  });
  return new Map(outputFiles.map(({ path, text }) => [path, text]));
}
