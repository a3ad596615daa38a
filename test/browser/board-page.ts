/** What users do on the page of the task board. */
import type { Page } from "playwright-core";

export async function login(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}

export const task = (page: Page, title: string) =>
  page.getByRole("listitem").filter({ hasText: title });

export async function add(page: Page, title: string): Promise<void> {
  await page.getByLabel("New task").fill(title);
  await page.getByRole("button", { name: "Add" }).click();
  await task(page, title).waitFor();
}
