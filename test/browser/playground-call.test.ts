import { readFile } from "node:fs/promises";
import { createServer, method, type Server } from "callwire";
import { serveHttp } from "callwire/http/node";
import type { Locator } from "playwright-core";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { describeWith } from "../services.ts";
import { openPage } from "./launch.ts";
import {
  call,
  callButton,
  choose,
  chosenMessage,
  connected,
  editor,
  openPlayground,
  outcome,
  rows,
  useWire,
} from "./playground-page.ts";
import { usePlayground } from "./use-playground.ts";

/** A server with a playground of its own. */
async function served(server: Server) {
  const http = await serveHttp(server, { port: 0, playground: true });
  const { origin } = new URL(http.url);
  return { origin, close: () => server.close({ drainMs: 0 }) };
}

describeWith(["playwright", "chromium"], "the playground", () => {
  const playground = usePlayground();

  describe("at first", () => {
    test("shows the methods, one of them ready to call, and loads nothing from other hosts", async () => {
      const hosts = new Set<string>();
      await using page = await openPage(playground.browser, "about:blank");
      page.on("request", (request) => hosts.add(new URL(request.url()).origin));
      const response = await page.goto(`${playground.site.origin}/`);
      await connected(page);
      await page.getByRole("heading", { name: "math/add" }).waitFor();
      expect(await page.getByRole("textbox", { name: /^a/ }).inputValue()).toBe("2");
      expect([...hosts]).toEqual([playground.site.origin]);
      const policy = response?.headers()["content-security-policy"] ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toContain("unsafe");
      expect(page.complaints).toEqual([]);
    });

    test("search narrows the list and calls what is not in it", async () => {
      await using page = await playground.open();
      const methods = page.getByRole("navigation", { name: "Methods" }).locator("button.method");
      await page.keyboard.press("/");
      await page.keyboard.type("square root");
      const found = [expect.stringContaining("sqrt")];
      await expect.poll(() => methods.allInnerTexts()).toEqual(found);
      await page.getByRole("searchbox", { name: "Search methods" }).fill("not/there");
      await page.getByRole("button", { name: "Call “not/there” all the same" }).click();
      await callButton(page).click();
      await outcome(page).getByText("-32601").waitFor();
      expect(page.complaints).toEqual([]);
    });

    test("streams and deprecated methods are marked", async () => {
      await using page = await playground.open();
      const marks = (name: string): Locator =>
        page.getByRole("button", { name: new RegExp(`^${name}`) }).locator(".mark");
      expect(await marks("count").innerText()).toBe("stream");
      expect(await marks("old").innerText()).toBe("deprecated");
    });
  });

  test("a file is sent from the form, and one in the result is saved", async () => {
    const server = createServer({
      crop: method(
        { params: z.object({ photo: z.file(), at: z.date() }), result: z.file() },
        async ({ photo, at }) => {
          const bytes = (await photo.bytes()).subarray(0, 3);
          return new File([bytes], `${at.getTime()} ${photo.name}`, { type: photo.type });
        },
      ),
      sum: method({ upload: z.number(), result: z.number() }, async (_params, { upload }) => {
        let sum = 0;
        for await (const n of upload) sum += n;
        return sum;
      }),
    });
    const { origin, close } = await served(server);
    await using page = await openPlayground(playground.browser, `${origin}/#method=crop`);
    await page.getByRole("textbox", { name: /^at/ }).fill("1970-01-01T00:00:00.000Z");
    const buffer = Buffer.from("sea at night");
    await page
      .getByLabel(/^photo/)
      .setInputFiles({ name: "sea.jpg", mimeType: "image/jpeg", buffer });
    await expect.poll(() => editor(page).innerText()).toContain("sea.jpg");
    await call(page);
    const download = page.waitForEvent("download");
    await outcome(page).getByRole("button", { name: "Save 0 sea.jpg (3 B)" }).click();
    expect(await readFile(await (await download).path(), "utf8")).toBe("sea");
    await page.getByRole("button", { name: /^sum/ }).click();
    await useWire(page, "WebSocket");
    await page.getByLabel(/^upload/).fill("40\n2");
    await call(page);
    expect(await outcome(page).getByRole("region", { name: "Result" }).innerText()).toBe("42");
    expect(page.complaints).toEqual([]);
    await close();
  });

  describe("a call", () => {
    test("is made with the form, and the editor is in step", async () => {
      await using page = await playground.open();
      await page.getByRole("textbox", { name: /^a/ }).fill("2.5");
      const json = async (): Promise<unknown> => JSON.parse(await editor(page).innerText());
      await expect.poll(json).toEqual({ a: 2.5, b: 3 });
      await editor(page).press("Control+A");
      await page.keyboard.type('{"a": 10, "b": 4}');
      await expect.poll(() => page.getByRole("textbox", { name: /^a/ }).inputValue()).toBe("10");
      await page.getByRole("radio", { name: "by position" }).check();
      await expect.poll(json).toEqual([10, 4]);
      await page.keyboard.press("Control+Enter");
      await outcome(page).getByRole("heading", { name: "Result" }).waitFor();
      expect(await outcome(page).getByRole("region", { name: "Result" }).innerText()).toBe("14");
      await rows(page, /sent.*call math\/add/).waitFor();
      await rows(page, /received.*result math\/add.* m?s$/).click();
      const message = await chosenMessage(page);
      expect(message).toMatchObject({ jsonrpc: "2.0", result: 14 });
      expect(page.complaints).toEqual([]);
    });

    test("of nested params is filled in field by field", async () => {
      await using page = await playground.open("#method=shapes/draw");
      await page.getByRole("textbox", { name: /^title/ }).fill("Two shapes");
      await page.getByRole("combobox", { name: /^colour/ }).selectOption("green");
      await page.getByRole("combobox", { name: /^filled/ }).selectOption("true");
      const add = page.getByRole("button", { name: "Add an item" });
      await add.click();
      await page.getByRole("textbox", { name: /^radius/ }).fill("4");
      await add.click();
      await page.getByRole("combobox", { name: "shape of item 2" }).selectOption('kind: "box"');
      await page.getByRole("textbox", { name: /^width/ }).fill("3");
      await page.getByRole("textbox", { name: /^height/ }).fill("2");
      await callButton(page).click();
      const result = await outcome(page).getByRole("region", { name: "Result" }).innerText();
      expect(JSON.parse(result)).toEqual({
        title: "Two shapes",
        colour: "green",
        filled: true,
        shapes: [
          { kind: "circle", radius: 4 },
          { kind: "box", size: { width: 3, height: 2 } },
        ],
      });
      expect(page.complaints).toEqual([]);
    });

    test("with invalid params shows the fault at its field, from the schema and from the server", async () => {
      await using page = await playground.open();
      const a = page.getByRole("textbox", { name: /^a/ });
      await a.fill("two");
      await page.getByRole("alert").getByText("a must be a number").waitFor();
      expect(await a.getAttribute("aria-invalid")).toBe("true");
      await choose(page, "without a group", "even");
      await callButton(page).click();
      await page.getByRole("alert").getByText("The server says: only even numbers here").waitFor();
      expect(await page.getByRole("textbox", { name: /^n/ }).getAttribute("aria-invalid")).toBe(
        "true",
      );
      expect(page.complaints).toEqual([]);
    });

    test("is completed from the schema while the JSON is typed", async () => {
      await using page = await playground.open("#method=shapes/draw");
      await editor(page).fill("{}");
      await editor(page).press("Home");
      await editor(page).press("ArrowRight");
      await editor(page).press("Control+Space");
      await page.getByRole("option", { name: /"colour"/ }).click();
      await expect.poll(() => editor(page).innerText()).toContain('"colour": "red"');
    });

    test("without an answer is a notification", async () => {
      await using page = await playground.open("#method=echo");
      await page.getByRole("button", { name: "Notify", exact: true }).click();
      await outcome(page).getByRole("heading", { name: "Sent" }).waitFor();
      await rows(page, /notify echo/).click();
      const message = await chosenMessage(page);
      expect(message).not.toHaveProperty("id");
    });

    test("in version 1.0 goes by position and without a version", async () => {
      await using page = await playground.open();
      await page.getByRole("button", { name: "Connect" }).click();
      await page.getByRole("combobox", { name: "URL" }).fill("/jsonrpc");
      await page.getByRole("radio", { name: "1.0" }).check();
      await page.getByRole("button", { name: "Done" }).click();
      await call(page);
      await rows(page, /call math\/add/).click();
      const message = await chosenMessage(page);
      expect(message).toEqual({ method: "math/add", params: [2, 3], id: expect.any(Number) });
      expect(page.complaints).toEqual([]);
    });

    test("that takes long shows progress and can be cancelled", async () => {
      await using page = await playground.open("#method=held");
      await callButton(page).click();
      await page.getByRole("progressbar", { name: "Progress" }).waitFor();
      playground.site.release();
      await outcome(page).getByText("released").waitFor();
      await choose(page, "without a group", "hang");
      await callButton(page).click();
      await page.getByRole("button", { name: "Cancel" }).click();
      await outcome(page).getByRole("heading", { name: "Cancelled" }).waitFor();
      await expect.poll(() => playground.site.abandoned).toContain("hang");
      expect(page.complaints).toEqual([]);
    });
  });

  test("calls are gathered into a batch and answered one by one", async () => {
    await using page = await playground.open();
    const add = page.getByRole("button", { name: "Add to batch" });
    await add.click();
    await choose(page, "math", "sqrt");
    await page.getByRole("textbox", { name: /^x/ }).fill("-4");
    await add.click();
    await page.getByRole("button", { name: "Send batch" }).click();
    const batch = page.getByRole("region", { name: "Batch" });
    await batch.getByText("-32000 Negative input").waitFor();
    expect(await batch.locator(".good").innerText()).toBe("5");
    await rows(page, /batch of 2/).waitFor();
    await rows(page, /2 answers/).waitFor();
    expect(page.complaints).toEqual([]);
  });
});
