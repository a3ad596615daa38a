/** The photo example, used in Chromium. */
import { readFile } from "node:fs/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSite } from "../../examples/photo/site.ts";
import { build } from "../cli/process.ts";
import { root } from "../entries.ts";
import { describeWith } from "../services.ts";
import { launchChromium, openPage } from "./launch.ts";

const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="800"/>';
const sea = { name: "sea.svg", mimeType: "image/svg+xml", buffer: Buffer.from(svg) };
const size = "[document.images[0].naturalWidth, document.images[0].naturalHeight]";

describeWith(["playwright", "chromium", "photo example"], "the photo page", () => {
  let browser: Browser;
  let site: Awaited<ReturnType<typeof openSite>>;

  beforeAll(async () => {
    await build();
    browser = await launchChromium();
    site = await openSite(0);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  test("shows the thumbnail of a photo, or why there is none", async () => {
    const page = await openPage(browser, site.url);
    const input = page.getByLabel("Photo");
    await input.setInputFiles(sea);
    const image = page.getByRole("img", { name: "Thumbnail" });
    await image.waitFor();
    await expect.poll(() => page.evaluate(size)).toEqual([200, 400]);
    await page.locator("progress[value='1']").waitFor();
    expect(page.complaints).toEqual([]);

    await input.setInputFiles({
      name: "sea.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("sea"),
    });
    await page.getByRole("alert").getByText("This is not a photo").waitFor();
    await page.context().close();
  });

  test("in the short form of the docs shows a thumbnail", async () => {
    const page = await openPage(browser, `${site.url}short`);
    await page.locator("input").setInputFiles(sea);
    await page.getByRole("img", { name: "Thumbnail" }).waitFor();
    await expect.poll(() => page.evaluate(size)).toEqual([200, 400]);
    expect(page.complaints).toEqual([]);
    await page.context().close();

    const shown = await readFile(`${root}docs/values.md`, "utf8");
    expect(shown).toContain(await readFile(`${root}examples/photo/page/short.tsx`, "utf8"));
  });
});
