import { createServer } from "callwire";
import { htmlReference, openrpcDocument } from "callwire/openrpc";
import { expect, test } from "vitest";
import { methods as demo } from "../../examples/demo/methods.ts";
import { isFull } from "../full.ts";
import { describeWith } from "../services.ts";
import { loadAxe } from "./axe.ts";
import { call, rows } from "./playground-page.ts";
import { usePlayground } from "./use-playground.ts";

describeWith(["playwright", "chromium"], "the looks of the playground", () => {
  const playground = usePlayground();

  test.each([360, 768, 1600])("no element overflows at %i pixels", async (width) => {
    await using page = await playground.open("", { viewport: { width, height: 760 } });
    for (const pane of width < 700 ? ["Methods", "Wire", "Call"] : [undefined]) {
      if (pane !== undefined) {
        const panels = page.getByRole("navigation", { name: "Panels" });
        await panels.getByRole("button", { name: pane }).click();
      }
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    }
    await call(page);
  });

  test("the reference of discover --html fits a phone", async () => {
    const { methods } = createServer(demo);
    const html = htmlReference(openrpcDocument(methods, { title: "Demo", version: "1.0.0" }));
    await using page = await playground.browser.newPage({ viewport: { width: 375, height: 760 } });
    await page.setContent(html);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(375);
  });

  test.each(isFull ? (["light", "dark"] as const) : (["dark"] as const))(
    "axe finds nothing in %s",
    async (colorScheme) => {
      await using page = await playground.open("#method=shapes/draw", {
        colorScheme,
        bypassCSP: true,
      });
      await page.getByRole("button", { name: "Add an item" }).click();
      await call(page);
      const faults = await loadAxe(page);
      const tabs = isFull ? ["Code", "Measure", "History", "Conformance"] : ["Conformance"];
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
    },
  );
});
