/** The task board in Next, built and started, and used in Chromium. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildSite, type Site, startSite } from "../../examples/next/site.ts";
import { build } from "../cli/process.ts";
import { describeWith } from "../services.ts";
import { add, login, task } from "./board-page.ts";
import { launchChromium, openPage } from "./launch.ts";

describeWith(["playwright", "chromium", "next example"], "the task board in Next", () => {
  let browser: Browser;
  let site: Site;

  beforeAll(async () => {
    await build();
    await buildSite();
    [browser, site] = await Promise.all([launchChromium(), startSite()]);
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  test("shows one person what the other does, and takes files", { timeout: 120_000 }, async () => {
    const ann = await openPage(browser, `${site.url}live`);
    const bob = await openPage(browser, `${site.url}live`);
    await login(ann, "ann", "apple");
    await login(bob, "bob", "banana");
    for (const own of [ann, bob]) await own.getByRole("status").getByText("live").waitFor();
    await add(ann, "Water the plants");
    await task(bob, "Water the plants").getByText("ann").waitFor();
    await bob
      .getByLabel("File for Water the plants")
      .setInputFiles({ name: "plants.txt", mimeType: "text/plain", buffer: Buffer.from("daily") });
    await task(ann, "Water the plants").getByRole("button", { name: "plants.txt" }).waitFor();
    expect([...ann.complaints, ...bob.complaints]).toEqual([]);
    await ann.context().close();
    await bob.context().close();
  });

  test("is rendered by the server, and a server action adds a task", {
    timeout: 120_000,
  }, async () => {
    const page = await openPage(browser, site.url);
    await add(page, "Sweep");
    expect(await (await fetch(site.url)).text()).toContain("Sweep");
    expect(await (await fetch(`${site.url}tasks`)).json()).toContainEqual({
      title: "Sweep",
      done: false,
    });
    expect(page.complaints).toEqual([]);
    await page.context().close();
  });
});
