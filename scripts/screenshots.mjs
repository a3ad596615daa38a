// Pictures of the playground for docs/images/: `node scripts/screenshots.mjs [folder]`.
// It needs what scripts/fetch-peers.mjs fetches: playwright-core and Chromium.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { withPalette } from "./palette-png.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = process.argv[2] ?? join(root, "docs", "images");
const services = JSON.parse(readFileSync(join(root, ".cache", "services.json"), "utf8"));
const library = join(root, "test", "browser", "node_modules", "playwright-core", "index.mjs");
const { chromium } = await import(pathToFileURL(library).href);

/** A page of playwright-core, whose types npm install does not bring. @typedef {any} Page */

const wide = { width: 1600, height: 1000 };
const narrow = { width: 360, height: 760 };

/**
 * A picture, and how the page gets there.
 * @type {{ name: string, size?: typeof wide, theme?: "light" | "dark", link?: string, play: (page: Page) => Promise<unknown> }[]}
 */
const pictures = [
  {
    name: "",
    size: { width: 1440, height: 860 },
    link: "#method=ticks/start&wire=websocket",
    play: overview,
  },
  { name: "call", play: callOnce },
  { name: "call-dark", theme: "dark", play: callOnce },
  { name: "call-narrow", size: narrow, play: callOnce },
  { name: "call-narrow-dark", size: narrow, theme: "dark", play: callOnce },
  {
    name: "wire-narrow",
    size: narrow,
    play: (page) => callOnce(page).then(() => pane(page, "Wire")),
  },
  { name: "methods-narrow", size: narrow, theme: "dark", play: (page) => pane(page, "Methods") },
  { name: "stream", link: "#method=paritosh/stream", play: readStream },
  { name: "push-dark", theme: "dark", link: "#method=ticks/start&wire=websocket", play: hearTicks },
  { name: "batch", play: sendBatch },
  { name: "fault", link: "#method=chat/join", play: sendFault },
  { name: "progress-dark", theme: "dark", link: "#method=slow/work", play: watchProgress },
  { name: "measure", play: measure },
  { name: "conformance", play: conformance },
  {
    name: "code-dark",
    theme: "dark",
    play: (page) => tab(page, "Code").then(() => choose(page, "TypeScript")),
  },
  { name: "connect", play: (page) => page.getByRole("button", { name: "Connect" }).click() },
];

mkdirSync(folder, { recursive: true });
const demo = spawn(process.execPath, [join(root, "dist", "cli", "main.js"), "demo", "--port", "0"]);
const origin = await new Promise((resolve) => {
  demo.stdout.setEncoding("utf8").on("data", (text) => {
    const [found] = /http:\/\/[\d.:]+/.exec(text) ?? [];
    if (found !== undefined) resolve(found);
  });
});
const browser = await chromium.launch({
  executablePath: services.chromium.path,
  args: process.getuid?.() === 0 ? ["--no-sandbox", "--disable-gpu"] : ["--disable-gpu"],
});
try {
  for (const { name, size = wide, theme = "light", link = "", play } of pictures) {
    const context = await browser.newContext({ viewport: size, colorScheme: theme });
    const page = await context.newPage();
    page.setDefaultTimeout(5_000);
    await page.goto(`${origin}/${link}`);
    await page.getByText("Connected").waitFor({ state: "attached" });
    await play(page);
    await page.mouse.move(0, 0);
    const file = name === "" ? "playground.png" : `playground-${name}.png`;
    const picture = await page.screenshot({ animations: "disabled" });
    writeFileSync(join(folder, file), withPalette(picture));
    await context.close();
    console.log(file);
  }
} finally {
  await browser.close();
  demo.kill();
}

/** @param {Page} page */
function callButton(page) {
  return page.getByRole("main").getByRole("button", { name: /^Call/ });
}

/** @param {Page} page */
async function callOnce(page) {
  await callButton(page).click();
  await page.getByRole("heading", { name: "Result", level: 2 }).waitFor();
  if ((page.viewportSize()?.width ?? 0) > 700)
    await page
      .getByRole("option", { name: /result/ })
      .last()
      .click();
}

/** @param {Page} page @param {string} name */
async function pane(page, name) {
  await page.getByRole("navigation", { name: "Panels" }).getByRole("button", { name }).click();
}

/** @param {Page} page @param {string} name */
async function tab(page, name) {
  await page.getByRole("tab", { name }).click();
}

/** @param {Page} page @param {string} label */
async function choose(page, label) {
  await page.getByRole("radio", { name: label }).check();
}

/** @param {Page} page */
async function readStream(page) {
  await page
    .getByLabel("message", { exact: false })
    .first()
    .fill("Each character is an item of the stream.");
  await page.getByRole("button", { name: "Start stream" }).click();
  await page.getByLabel("Items").getByText("Each character is an item").waitFor();
}

/** Something of everything: pushes, an error, and a call. @param {Page} page */
async function overview(page) {
  await page.getByRole("textbox", { name: /intervalMs/ }).fill("400");
  await callButton(page).click();
  await page
    .getByRole("option", { name: /onTick/ })
    .nth(1)
    .waitFor();
  await page.getByRole("button", { name: /^sqrt/ }).click();
  await page.getByRole("textbox", { name: /^x/ }).fill("-1");
  await callButton(page).click();
  await page.getByRole("option", { name: /error math\/sqrt/ }).waitFor();
  await page
    .getByRole("region", { name: "math", exact: true })
    .getByRole("button", { name: /^add/ })
    .first()
    .click();
  await callOnce(page);
}

/** @param {Page} page */
async function hearTicks(page) {
  await page.getByRole("textbox", { name: /intervalMs/ }).fill("200");
  await callButton(page).click();
  await page
    .getByRole("option", { name: /onTick/ })
    .nth(5)
    .waitFor();
  await page
    .getByRole("option", { name: /onTick/ })
    .nth(4)
    .click();
}

/** @param {Page} page */
async function sendBatch(page) {
  const add = page.getByRole("button", { name: "Add to batch" });
  await add.click();
  await page.getByRole("button", { name: /^multiply/ }).click();
  await add.click();
  await page.getByRole("button", { name: /^sqrt/ }).click();
  await page.getByRole("textbox", { name: /^x/ }).fill("-1");
  await add.click();
  await page.getByRole("button", { name: "Send batch" }).click();
  await page.getByRole("button", { name: "Send again" }).waitFor();
  await page.getByRole("option", { name: /3 answers/ }).click();
}

/** @param {Page} page */
async function sendFault(page) {
  await page.getByRole("textbox", { name: /^name/ }).fill("");
  await callButton(page).click();
  await page.getByText("Invalid params").first().waitFor();
}

/** @param {Page} page */
async function watchProgress(page) {
  await callButton(page).click();
  await page.getByText("60 %").waitFor();
}

/** @param {Page} page */
async function conformance(page) {
  await tab(page, "Conformance");
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("It keeps every MUST.").waitFor({ timeout: 60_000 });
}

/** @param {Page} page */
async function measure(page) {
  await tab(page, "Measure");
  await page.getByRole("button", { name: "Repeat" }).click();
  await page.getByRole("button", { name: "Repeat" }).waitFor();
}
