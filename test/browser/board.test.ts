/** The task board of the examples, used in Chromium by two people at once, in each framework. */
import { readFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type Board, createBoard } from "../../examples/board/board.ts";
import { mountExpress } from "../../examples/board/express.ts";
import { mountFastify } from "../../examples/board/fastify.ts";
import { mountHono } from "../../examples/board/hono.ts";
import type { Mount, Mounted } from "../../examples/board/mount.ts";
import { buildPage, type PageFile } from "../../examples/board/page.ts";
import { build } from "../cli/process.ts";
import { isFull } from "../full.ts";
import { describeWith } from "../services.ts";
import { add, login, task } from "./board-page.ts";
import { launchChromium, openPage, type WatchedPage } from "./launch.ts";

const mounts: Readonly<Record<string, Mount>> = {
  Express: mountExpress,
  // Differ from Express only in how they are mounted.
  ...(isFull && { Fastify: mountFastify, Hono: mountHono }),
};

function newBoard(): Board {
  return createBoard({
    secret: "a secret of at least thirty-two bytes",
    passwords: { ann: "apple", bob: "banana" },
    audit: () => {},
  });
}

/** Holds the pauses of the report, so that the page has time to show each step; the result ends the next one. */
function holdPauses(): () => Promise<void> {
  const held: (() => void)[] = [];
  const spy = vi.spyOn(timers, "setTimeout").mockImplementation(
    (_ms, value, { signal } = {}) =>
      new Promise((resolve, reject) => {
        held.push(() => resolve(value as never));
        signal?.addEventListener("abort", () => reject(signal.reason));
      }),
  );
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  return async () => {
    await expect.poll(() => held.length).toBeGreaterThan(0);
    held.shift()?.();
  };
}

describeWith(["playwright", "chromium", "board example"], "the task board", () => {
  let browser: Browser;
  let page: ReadonlyMap<string, PageFile>;

  beforeAll(async () => {
    await build();
    [browser, page] = await Promise.all([launchChromium(), buildPage()]);
  }, 120_000);
  afterAll(() => browser?.close());

  async function use(
    mount: Mount,
    story: (ann: WatchedPage, bob: WatchedPage, mounted: Mounted) => Promise<void>,
  ): Promise<void> {
    const board = newBoard();
    const mounted = await mount(board, page, 0);
    const pages: WatchedPage[] = [];
    try {
      const ann = await openPage(browser, mounted.url);
      const bob = await openPage(browser, mounted.url);
      pages.push(ann, bob);
      await login(ann, "ann", "apple");
      await login(bob, "bob", "banana");
      for (const own of pages) await own.getByRole("status").getByText("live").waitFor();
      await story(ann, bob, mounted);
    } catch (error) {
      const shown = await Promise.all(pages.map((own) => own.locator("body").innerText()));
      throw new Error(`the pages show ${JSON.stringify(shown)}`, { cause: error });
    } finally {
      for (const own of pages) await own.context().close();
      await mounted.close();
      await board.close();
    }
  }

  test.for(Object.entries(mounts))(
    "in %s shows one person what the other does",
    { timeout: 120_000 },
    async ([, mount]) => {
      await use(mount, async (ann, bob) => {
        await add(ann, "Water the plants");
        await task(bob, "Water the plants").getByText("ann").waitFor();
        await task(bob, "Water the plants").getByRole("checkbox").click();
        await ann.locator("li.done").getByText("bob").waitFor();
        await task(ann, "Water the plants").getByRole("button", { name: "Remove" }).click();
        await task(bob, "Water the plants").waitFor({ state: "detached" });
        expect([...ann.complaints, ...bob.complaints]).toEqual([]);
      });
    },
  );

  test("says that a password is wrong", { timeout: 120_000 }, async () => {
    const board = newBoard();
    const mounted = await mountExpress(board, page, 0);
    const own = await openPage(browser, mounted.url);
    await login(own, "ann", "pear");
    await own.getByRole("alert").getByText("The name or the password is wrong.").waitFor();
    await own.context().close();
    await mounted.close();
    await board.close();
  });

  test("shows the progress of a job, which can be cancelled", { timeout: 120_000 }, async () => {
    await use(mountExpress, async (ann) => {
      for (const title of ["one", "two", "three"]) await add(ann, title);
      const endPause = holdPauses();
      await ann.getByRole("button", { name: "Report" }).click();
      await ann.locator("progress[value='1'][max='3']").waitFor();
      await endPause();
      await ann.locator("progress[value='2'][max='3']").waitFor();
      await endPause();
      await endPause();
      await ann.getByText("ann: 3 open, 0 done").waitFor();
      await ann.getByRole("button", { name: "Report" }).click();
      await ann.getByRole("button", { name: "Cancel" }).click();
      await ann.getByRole("alert").getByText("cancelled").waitFor();
    });
  });

  test("takes back an optimistic change that the server refuses", {
    timeout: 120_000,
  }, async () => {
    await use(mountExpress, async (ann) => {
      await add(ann, "Paint");
      // The request arrives only after the page was seen to show the change.
      let refuse = (): void => {};
      await ann.route("**/rpc", async (route) => {
        if (!route.request().postData()?.includes("tasks/update")) return route.continue();
        await new Promise<void>((resolve) => {
          refuse = resolve;
        });
        return route.fulfill({ status: 500, body: "" });
      });
      const box = task(ann, "Paint").getByRole("checkbox");
      await box.click();
      await ann.locator("li.done").waitFor();
      refuse();
      await ann.locator("li:not(.done)").getByRole("alert").waitFor();
      expect(await box.isChecked()).toBe(false);
    });
  });

  test("uploads a file with progress, and downloads it", { timeout: 120_000 }, async () => {
    await use(mountExpress, async (ann, bob) => {
      await add(ann, "Sort the photos");
      const buffer = Buffer.alloc(1_000_000, "photo ");
      const network = await ann.context().newCDPSession(ann);
      const limit = (uploadThroughput: number) =>
        network.send("Network.emulateNetworkConditions", {
          offline: false,
          latency: 0,
          downloadThroughput: -1,
          uploadThroughput,
        });
      const choose = () =>
        ann
          .getByLabel("File for Sort the photos")
          .setInputFiles({ name: "sea.jpg", mimeType: "image/jpeg", buffer });
      await network.send("Network.enable");

      // Slow enough to be seen, and never finished: the test cancels it.
      await limit(20_000);
      await choose();
      const bar = ann.locator("progress[aria-label='Upload for Sort the photos']");
      await ann.waitForFunction(
        (own) => (own as HTMLProgressElement).value > 0,
        await bar.elementHandle(),
      );
      await ann.getByRole("button", { name: "Cancel" }).click();
      await task(ann, "Sort the photos").getByRole("alert").getByText("cancelled").waitFor();

      await limit(-1);
      await choose();
      await task(bob, "Sort the photos").getByRole("button", { name: "sea.jpg" }).waitFor();
      const arriving = bob.waitForEvent("download");
      await task(bob, "Sort the photos").getByRole("button", { name: "sea.jpg" }).click();
      const download = await arriving;
      expect(download.suggestedFilename()).toBe("sea.jpg");
      expect(await readFile(await download.path())).toEqual(buffer);
      expect([...ann.complaints, ...bob.complaints]).toEqual([]);
    });
  });

  test("says when a subscription has begun, so that a list read after it misses nothing", async () => {
    const board = newBoard();
    const { tasks } = board.server.caller({ principal: { id: "ann" } });
    const changes = tasks.changes()[Symbol.asyncIterator]();
    expect((await changes.next()).value).toEqual({ kind: "subscribed" });
    const task = await tasks.create({ title: "Sweep" });
    expect((await changes.next()).value).toEqual({ kind: "created", task });
    await changes.return?.();
    await board.close();
  });

  test("catches up with what it missed while it was offline", { timeout: 120_000 }, async () => {
    const board = newBoard();
    const first = await mountExpress(board, page, 0);
    const port = Number(new URL(first.url).port);
    const ann = await openPage(browser, first.url);
    await login(ann, "ann", "apple");
    await ann.getByRole("status").getByText("live").waitFor();
    await first.close();
    await ann.getByRole("status").getByText("reconnecting").waitFor();
    await board.server.caller({ principal: { id: "bob" } }).tasks.create({ title: "Sweep" });
    const second = await mountExpress(board, page, port);
    await task(ann, "Sweep").getByText("bob").waitFor();
    await ann.getByRole("status").getByText("live").waitFor();
    await ann.context().close();
    await second.close();
    await board.close();
  });
});
