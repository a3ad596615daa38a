/** The photo example, used in Chromium. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSite } from "../../examples/photo/site.ts";
import { build } from "../cli/process.ts";
import { describeWith } from "../services.ts";
import { launchChromium, openPage } from "./launch.ts";

describeWith(["playwright", "chromium", "photo example"], "the photo page", () => {
  let browser: Browser;

  beforeAll(async () => {
    await build();
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());

  test("shows the thumbnail of a photo, or why there is none", async () => {
    const site = await openSite(0);
    const page = await openPage(browser, site.url);
    const input = page.getByLabel("Photo");
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="800"/>';
    const sea = { name: "sea.svg", mimeType: "image/svg+xml", buffer: Buffer.from(svg) };
    await input.setInputFiles(sea);
    const image = page.getByRole("img", { name: "Thumbnail" });
    await image.waitFor();
    const size = () =>
      page.evaluate("[document.images[0].naturalWidth, document.images[0].naturalHeight]");
    await expect.poll(size).toEqual([200, 400]);
    await page.locator("progress[value='1']").waitFor();
    expect(page.complaints).toEqual([]);

    await input.setInputFiles({
      name: "sea.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("sea"),
    });
    await page.getByRole("alert").getByText("This is not a photo").waitFor();
    await page.context().close();
    await site.close();
  });
});
