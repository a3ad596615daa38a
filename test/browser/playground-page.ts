/** The playground in a page, and the elements that tests refer to. */
import type { Browser, BrowserContextOptions, Locator } from "playwright-core";
import { openPage, type WatchedPage } from "./launch.ts";

export async function openPlayground(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const viewport = { width: 1400, height: 900 };
  const page = await openPage(browser, url, { viewport, ...options });
  await connected(page);
  return page;
}

export async function connected(page: WatchedPage): Promise<void> {
  await page.getByText("Connected", { exact: true }).waitFor();
}

export function callButton(page: WatchedPage): Locator {
  return page.getByRole("main").getByRole("button", { name: /^Call/ });
}

export function outcome(page: WatchedPage): Locator {
  return page.getByRole("region", { name: "Outcome" });
}

/** Makes the current call, and waits until it is answered. */
export async function call(page: WatchedPage): Promise<void> {
  await callButton(page).click();
  await outcome(page).getByRole("heading", { name: "Result" }).waitFor();
}

/** Messages in the wire view. */
export function rows(page: WatchedPage, name: RegExp): Locator {
  return page.getByRole("listbox", { name: "Messages" }).getByRole("option", { name });
}

/** The selected message in the wire view. */
export async function chosenMessage(page: WatchedPage): Promise<unknown> {
  return JSON.parse(await page.getByRole("region", { name: "The message" }).innerText());
}

export function editor(page: WatchedPage): Locator {
  return page.getByRole("textbox", { name: "params as JSON" });
}

/** The text that was copied last; that takes a moment after the click. */
export function copied(page: WatchedPage): Promise<string> {
  return page.evaluate<string>("navigator.clipboard.readText()");
}

export async function choose(page: WatchedPage, group: string, label: string): Promise<void> {
  await page
    .getByRole("region", { name: group, exact: true })
    .getByRole("button", { name: new RegExp(`^${label}\\b`) })
    .click();
}

export async function useWire(page: WatchedPage, name: string): Promise<void> {
  await page.getByRole("radio", { name }).check();
  await connected(page);
}
