import { readFile } from "node:fs/promises";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build } from "../cli/process.ts";
import { describeWith } from "../services.ts";
import { launchChromium, type WatchedPage } from "./launch.ts";
import { call, openPlayground, rows } from "./playground-page.ts";
import { Site } from "./playground-site.ts";

/** Resolves when nothing has changed for longer than the editor takes to check its text. */
const untilStill = `new Promise((resolve) => {
  let timer;
  const begin = () => {
    clearTimeout(timer);
    timer = setTimeout(resolve, 1000);
  };
  const changes = { subtree: true, childList: true, attributes: true, characterData: true };
  new MutationObserver(begin).observe(document, changes);
  begin();
})`;

describeWith(["playwright", "chromium"], "the looks of the playground", () => {
  let browser: Browser;
  let site: Site;

  beforeAll(async () => {
    await build();
    [browser, site] = await Promise.all([launchChromium(), Site.open()]);
  }, 60_000);

  afterAll(async () => {
    await browser?.close();
    await site?.stop();
  });

  /** A link to a call may come after the slash. */
  const open = (link = "", options?: BrowserContextOptions): Promise<WatchedPage> =>
    openPlayground(browser, `${site.origin}/${link}`, options);

  test.each([360, 768, 1600])("nothing is cut off at %i pixels", async (width) => {
    await using page = await open("", { viewport: { width, height: 760 } });
    for (const pane of width < 700 ? ["Methods", "Wire", "Call"] : [undefined]) {
      if (pane !== undefined) {
        const panels = page.getByRole("navigation", { name: "Panels" });
        await panels.getByRole("button", { name: pane }).click();
      }
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    }
    await call(page);
  });

  test.each(["light", "dark"] as const)("axe finds nothing in %s", async (colorScheme) => {
    await using page = await open("#method=shapes/draw", { colorScheme, bypassCSP: true });
    await page.getByRole("button", { name: "Add an item" }).click();
    await call(page);
    const path = new URL("node_modules/axe-core/axe.min.js", import.meta.url);
    await page.addScriptTag({ content: await readFile(path, "utf8") });
    const faults = async (): Promise<string[]> => {
      // It goes through the page piece by piece and fails where one is replaced meanwhile, as the
      // editor does a moment after its text has changed.
      await page.evaluate(untilStill);
      return page.evaluate(
        "axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' ' + target.join(' ') + ' ' + failureSummary)))",
      );
    };
    const tabs = ["Code", "Measure", "History", "Conformance"];
    for (const name of colorScheme === "light" ? tabs : []) {
      await page.getByRole("tab", { name }).click();
      expect(await faults(), name).toEqual([]);
    }
    await page.getByRole("tab", { name: "Wire" }).click();
    await rows(page, /result shapes/).click();
    await page.getByRole("button", { name: "Add to batch" }).click();
    await page.getByRole("textbox", { name: /^radius/ }).fill("none");
    expect(await faults(), "a fault, a batch and a message").toEqual([]);
    await page.getByRole("button", { name: "Connect" }).click();
    expect(await faults(), "the connection").toEqual([]);
  });
});
