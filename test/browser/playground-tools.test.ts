import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { isFull } from "../full.ts";
import { describeWith } from "../services.ts";
import { call, callButton, choose, connected, copied, outcome, rows } from "./playground-page.ts";
import { usePlayground } from "./use-playground.ts";

const run = promisify(execFile);
const has = (command: string): boolean => spawnSync(command, ["--version"]).status === 0;

describeWith(["playwright", "chromium"], "the tools of the playground", () => {
  const playground = usePlayground();

  test("calls are repeated and measured", async () => {
    await using page = await playground.open();
    await page.getByRole("tab", { name: "Measure" }).click();
    await page.getByRole("spinbutton", { name: /Call it/ }).fill("30");
    await page.getByRole("spinbutton", { name: /at a time/ }).fill("4");
    await page.getByRole("button", { name: "Repeat" }).click();
    await page.getByRole("img", { name: "Latency of the last 30 calls" }).waitFor();
    const figures = await page.locator(".figures").innerText();
    expect(figures).toMatch(/median\s+[\d.]+ m?s/);
    expect(figures).toMatch(/failed\s+0/);
    expect(page.complaints).toEqual([]);
  });

  test("what a call looks like in other languages works there", async () => {
    await using page = await playground.open();
    await page.getByRole("tab", { name: "Code" }).click();
    const code = async (language: string): Promise<string> => {
      await page.getByRole("radio", { name: language }).check();
      return page.getByRole("region", { name: `The call in ${language}` }).innerText();
    };
    const folder = await mkdtemp(join(tmpdir(), "callwire-code-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const program = join(folder, "fetch.mjs");
    await writeFile(program, await code("fetch"));
    expect((await run(process.execPath, [program])).stdout.trim()).toBe("5");
    const curl = await code("curl");
    if (has("curl")) {
      const { stdout } = await run("sh", ["-c", curl.replace(/^curl/, "curl -sS")]);
      expect(JSON.parse(stdout)).toMatchObject({ result: 5 });
    }
    const python = await code("Python");
    if (has("python3")) expect((await run("python3", ["-c", python])).stdout.trim()).toBe("5");
    expect(await code("TypeScript")).toContain('client.call("math/add", { a: 2, b: 3 })');
    expect(JSON.parse(await code("JSON"))).toMatchObject({
      method: "math/add",
      params: { a: 2, b: 3 },
    });
  });

  test("what the caller may not call is absent", async () => {
    await using page = await playground.open();
    const hidden = page.getByRole("button", { name: /^hidden/ });
    expect(await hidden.count()).toBe(0);
    await page.getByRole("button", { name: "Connect" }).click();
    await page.getByLabel("Bearer token").fill("token-of-ada");
    await page.getByRole("button", { name: "Done" }).click();
    await hidden.waitFor();
  });

  test("history survives a reload, and secrets do not", async () => {
    await using page = await playground.open("#method=login");
    await page.getByRole("button", { name: "Connect" }).click();
    await page.getByLabel("Bearer token").fill("token-of-ada");
    await page.getByLabel("Headers").fill("x-secret: header-of-ada");
    await page.getByRole("button", { name: "Done" }).click();
    await connected(page);
    await page.getByRole("textbox", { name: /^password/ }).fill("password-of-ada");
    await callButton(page).click();
    await outcome(page).getByText("true").waitFor();
    await choose(page, "without a group", "whoami");
    await callButton(page).click();
    await outcome(page).getByText("Bearer token-of-ada").waitFor();
    await page.reload();
    await page.getByRole("tab", { name: "History" }).click();
    const kept = await page.evaluate<string>("JSON.stringify(localStorage) + location.href");
    expect(kept).toContain("login");
    expect(kept).not.toContain("of-ada");
    await page.getByRole("button", { name: /login/ }).last().click();
    await page.getByRole("heading", { name: "login" }).waitFor();
    expect(await page.getByRole("textbox", { name: /^user/ }).inputValue()).toBe("ada");
    expect(page.complaints).toEqual([]);
  });

  test("a link restores a call without making it", async () => {
    await using page = await playground.open("", {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await choose(page, "math", "multiply");
    await page.getByRole("textbox", { name: /^a/ }).fill("21");
    await page.getByRole("button", { name: "Copy a link to this call" }).click();
    await expect.poll(() => copied(page)).toContain("#method=math/multiply");
    const link = await copied(page);
    await using other = await playground.open(link.slice(`${playground.site.origin}/`.length));
    await other.getByRole("heading", { name: "math/multiply" }).waitFor();
    expect(await other.getByRole("textbox", { name: /^a/ }).inputValue()).toBe("21");
    expect(await rows(other, /multiply/).count()).toBe(0);
  });

  test("a link with params of any depth opens the page", async () => {
    const params = "[".repeat(20_000) + "]".repeat(20_000);
    await using page = await playground.open(`#method=math/multiply&params=${params}`);
    await page.getByRole("heading", { name: "math/multiply" }).waitFor();
    expect(page.complaints).toEqual([]);
  });

  if (isFull)
    test("the conformance kit runs from the page", async () => {
      await using page = await playground.open();
      await page.getByRole("tab", { name: "Conformance" }).click();
      await page.getByRole("button", { name: "Check" }).click();
      await page.getByText(/^It (keeps|does not keep) every MUST\./).waitFor();
      const batch = await page.getByRole("row", { name: /^batch/ }).innerText();
      expect(batch).toMatch(/\b\d+ of \d+\b/);
      // The page waits two seconds for each answer, which a busy machine may take.
      await page.getByText("It keeps every MUST.").waitFor();
      expect(batch).toMatch(/\b(\d+) of \1\b/);
    });

  test("an address of another server is not called from here", async () => {
    await using page = await playground.open();
    await page.getByRole("button", { name: "Connect" }).click();
    await page.getByRole("combobox", { name: "URL" }).fill("http://other.example/rpc");
    await page.getByText("callwire playground http://other.example/rpc").waitFor();
    await page.keyboard.press("Escape");
    await call(page);
    expect(page.complaints).toEqual([]);
  });
});
