import { createServer, method, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { describeWith } from "../services.ts";
import { callButton, openPlayground } from "./playground-page.ts";
import { usePlayground } from "./use-playground.ts";

describeWith(["playwright", "chromium"], "the playground by keyboard", () => {
  const playground = usePlayground();

  /** A server with so many methods that moving through them with Tab takes minutes. */
  async function large(): Promise<string> {
    const add = method(
      {
        summary: "Adds",
        description:
          "Adds `a` and **b**, see [the docs](https://example.com/add).\n\n- one\n- two\n\n<b>not HTML</b> [no](javascript:alert(1))",
        params: z.object({ a: z.int().min(0).max(9).default(3), b: z.string().regex(/^x+$/) }),
      },
      () => null,
    );
    const methods = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`m${i}`, add]));
    const server = createServer(methods, { log: silentLog });
    const { port } = await serveHttp(server, { port: 0, playground: true, drainMs: 0 });
    onTestFinished(() => server.close({ drainMs: 0 }));
    return `http://127.0.0.1:${port}/`;
  }

  const focused =
    "document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.id";

  test("a slash goes to the search, also after a click on a radio button, and Enter to what it found", async () => {
    await using page = await playground.open();
    await page.getByRole("radio", { name: "WebSocket" }).check();
    await page.keyboard.press("/");
    expect(await page.evaluate(focused)).toBe("Search methods");
    expect(await page.getByRole("searchbox", { name: "Search methods" }).inputValue()).toBe("");
    await page.keyboard.type("sqr");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate("document.activeElement?.id")).toBe("call");
    expect(await page.locator("h1").innerText()).toContain("math/sqrt");
  });

  test("a link skips the methods, and the methods are one tab stop", async () => {
    const url = await large();
    await using page = await openPlayground(playground.browser, url);
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement?.textContent")).toBe("Skip to the call");
    await page.keyboard.press("Enter");
    // Not waitForFunction: it evaluates strings in the page, whose policy forbids that.
    await expect.poll(() => page.evaluate("document.activeElement?.id")).toBe("call");
    await page.getByRole("searchbox", { name: "Search methods" }).focus();
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement?.className")).toContain("method");
    await page.keyboard.press("End");
    expect(await page.evaluate("document.activeElement?.textContent")).toContain("m299");
    await page.keyboard.press("Tab");
    const isPast = "document.querySelector('.panel.methods')?.contains(document.activeElement)";
    expect(await page.evaluate(isPast)).toBe(false);
    await page.keyboard.press("Shift+Tab");
    expect(await page.evaluate("document.activeElement?.textContent")).toContain("m299");
  });

  test("a description is shown as the safe part of Markdown, and limits beside types", async () => {
    await using page = await openPlayground(playground.browser, await large());
    await callButton(page).waitFor();
    const about = page.locator(".about");
    expect(await about.locator("code").innerText()).toBe("a");
    expect(await about.locator("strong").innerText()).toBe("b");
    expect(await about.getByRole("listitem").allInnerTexts()).toEqual(["one", "two"]);
    const links = about.getByRole("link");
    expect(await links.count()).toBe(1);
    expect(await links.getAttribute("href")).toBe("https://example.com/add");
    expect(await about.innerText()).toContain("<b>not HTML</b> [no](javascript:alert(1))");
    const params = page.getByRole("region", { name: "Reference" }).locator("tbody");
    expect(await params.innerText()).toContain("integer, 0 to 9, default 3");
    expect(await params.innerText()).toContain("matches /^x+$/");
    expect(page.complaints).toEqual([]);
  });
});
