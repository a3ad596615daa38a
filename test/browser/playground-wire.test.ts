import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { isFull } from "../full.ts";
import { describeWith } from "../services.ts";
import { openPage } from "./launch.ts";
import {
  call,
  callButton,
  choose,
  chosenMessage,
  connected,
  copied,
  editor,
  outcome,
  rows,
  useWire,
} from "./playground-page.ts";
import { markup, Site } from "./playground-site.ts";
import { usePlayground } from "./use-playground.ts";

describeWith(["playwright", "chromium"], "the wire of the playground", () => {
  const playground = usePlayground();

  test.each(["HTTP", "WebSocket", "SSE"])("a stream over %s is read and stopped", async (wire) => {
    await using page = await playground.open("#method=forever");
    await useWire(page, wire);
    const before = playground.site.abandoned.length;
    await page.getByRole("button", { name: "Start stream" }).click();
    await outcome(page).getByText("12", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await outcome(page).getByRole("heading", { name: "Stopped" }).waitFor();
    await expect.poll(() => playground.site.abandoned.slice(before)).toContain("forever");
    expect(page.complaints).toEqual([]);
  });

  test.each([
    ["HTTP", /sent.*closed hang #\d+.* m?s$/],
    ["SSE", /sent.*closed hang #\d+.* m?s$/],
    ["WebSocket", /sent.*control \$\/cancelRequest/],
  ])("a call over %s that is cancelled is so on the wire", async (wire, row) => {
    await using page = await playground.open("#method=hang");
    await useWire(page, wire);
    await callButton(page).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await outcome(page).getByRole("heading", { name: "Cancelled" }).waitFor();
    await rows(page, row).click();
    if (wire === "WebSocket") return;
    await page.getByText("The request was closed before its answer was complete").waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export as a transcript" }).click();
    const text = await readFile(await (await download).path(), "utf8");
    expect(text).toMatch(new RegExp(`# \\S+ ${wire}, hang #\\d+ was closed\\n$`));
  });

  test("a row that is too long for its place shows the whole message when it is chosen", async () => {
    await using page = await playground.open("", {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await choose(page, "without a group", "echo");
    await editor(page).press("Control+A");
    const long = "x".repeat(2_000);
    await page.keyboard.insertText(JSON.stringify([long]));
    await call(page);
    await page.getByText("select a message to read it").waitFor();
    await rows(page, /sent.*call echo.*…/).click();
    expect(await chosenMessage(page)).toMatchObject({ method: "echo", params: [long] });
    await page.getByRole("button", { name: "Copy the message" }).click();
    await expect.poll(() => copied(page)).toContain(JSON.stringify([long]));
    expect(JSON.parse(await copied(page))).toMatchObject({ params: [long] });
    expect(page.complaints).toEqual([]);
  });

  test("messages that the server sends on its own are shown", async () => {
    await using page = await playground.open("#method=ticks/start&wire=websocket");
    await page.getByRole("textbox", { name: /^intervalMs/ }).fill("20");
    await callButton(page).click();
    await rows(page, /push onTick/)
      .nth(3)
      .waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText(/paused, [1-9]\d* more since/).waitFor();
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByRole("searchbox", { name: "Filter messages" }).fill("ticking every 20");
    await expect.poll(() => rows(page, /./).count()).toBe(1);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export as a transcript" }).click();
    const text = await readFile(await (await download).path(), "utf8");
    expect(text).toMatch(/^# \S+ WebSocket\n<-- \{"jsonrpc":"2.0","result":"ticking every 20 ms"/);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByText("No message matches.").waitFor();
    expect(page.complaints).toEqual([]);
  });

  test.each(["HTTP", "WebSocket"])(
    "a server that restarts is found again over %s",
    async (wire) => {
      await using own = await Site.open();
      await using page = await openPage(playground.browser, `${own.origin}/`);
      await connected(page);
      await useWire(page, wire);
      await own.stop();
      if (wire === "HTTP") await callButton(page).click();
      await page.getByText("Reconnecting", { exact: true }).waitFor();
      await own.start();
      await connected(page);
      await call(page);
    },
  );

  test("markup in names, descriptions, results and pushes stays text", async () => {
    await using page = await playground.open("#wire=websocket");
    // Its name has slashes; after the last one comes its place in the list.
    await page.getByRole("button", { name: /^script>/ }).click();
    expect(await page.getByRole("heading", { level: 1 }).innerText()).toContain(markup);
    await call(page);
    expect(await outcome(page).innerText()).toContain("<script>");
    await rows(page, /push/).click();
    await page.getByRole("button", { name: /^fails/ }).click();
    await callButton(page).click();
    await outcome(page).getByText(markup).first().waitFor();
    await page.getByRole("button", { name: /^items/ }).click();
    await page.getByRole("button", { name: "Start stream" }).click();
    await outcome(page).getByRole("heading", { name: "Stream ended" }).waitFor();
    for (const name of ["Code", "History", "Measure"])
      await page.getByRole("tab", { name }).click();
    expect(await page.evaluate("globalThis.pwned")).toBeUndefined();
    expect(await page.locator("img, script:not([src])").count()).toBe(0);
    expect(page.complaints).toEqual([]);
  });

  test("long items of a stream are shown in part, and are whole on the wire", async () => {
    await using page = await playground.open("#method=bulky");
    await page.getByRole("button", { name: "Start stream" }).click();
    await outcome(page).getByRole("heading", { name: "Stream ended" }).waitFor();
    const items = outcome(page).getByRole("region", { name: "Items" }).locator("code");
    expect(await items.first().innerText()).toBe('"text"');
    const last = await items.last().innerText();
    expect(last).toMatch(/^\{"n":19,"text":"long .*…$/);
    expect(last.length).toBeLessThan(10_000);
    await rows(page, /item/).last().click();
    const detail = page.getByRole("region", { name: "The message" });
    expect((await detail.innerText()).length).toBeGreaterThan(100_000);
    expect(page.complaints).toEqual([]);
  });

  test("10,000 messages do not freeze the page", async () => {
    await using page = await playground.open("#method=flood&wire=websocket");
    await page.evaluate(
      "globalThis.frames = 0; (function count() { globalThis.frames++; requestAnimationFrame(count) })()",
    );
    await call(page);
    await page.getByText(/^10,00\d messages$/).waitFor();
    // The page was drawn while they arrived, as often as an idle machine could.
    if (isFull) expect(await page.evaluate("globalThis.frames")).toBeGreaterThan(3);
    // It shows no more rows than there is space for.
    expect(await page.locator(".wire-row").count()).toBeLessThan(80);
    await choose(page, "math", "add");
    await callButton(page).click();
    await outcome(page).getByText("5", { exact: true }).waitFor();
    await rows(page, /result math\/add/).waitFor();
    expect(page.complaints).toEqual([]);
  });
});
