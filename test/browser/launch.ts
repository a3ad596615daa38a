/** Chromium, and pages that record their errors. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { pathOf } from "../services.ts";

/** Otherwise Chromium would send requests to Google's servers. */
const switches = [
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

/** On a busy machine a wait may take long; only what never happens reaches this limit. */
const patienceMs = 50_000;

export async function launchChromium(): Promise<Browser> {
  const { chromium } = await import("playwright-core");
  return chromium.launch({
    executablePath: pathOf("chromium"),
    timeout: patienceMs,
    // Chromium's own sandbox does not start as root.
    args: process.getuid?.() === 0 ? ["--no-sandbox", ...switches] : switches,
  });
}

export interface WatchedPage extends Page {
  /** Errors that were thrown or shown in the console. */
  readonly complaints: string[];
}

/** A page in its own context, so that nothing is stored from the page before. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(patienceMs);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  await page.goto(url);
  return Object.assign(page, { complaints });
}
