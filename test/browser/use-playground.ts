/** One browser and one site for all tests of a file, which open their pages there. */
import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { build } from "../cli/process.ts";
import { launchChromium, type WatchedPage } from "./launch.ts";
import { openPlayground } from "./playground-page.ts";
import { Site } from "./playground-site.ts";

export interface UsedPlayground {
  readonly browser: Browser;
  readonly site: Site;
  /** Opens a page that is connected. A link to a call may come after the slash. */
  open(link?: string, options?: BrowserContextOptions): Promise<WatchedPage>;
}

/** The returned functions can be used once the tests run. */
export function usePlayground(): UsedPlayground {
  let browser: Browser | undefined;
  let site: Site | undefined;

  beforeAll(async () => {
    await build();
    [browser, site] = await Promise.all([launchChromium(), Site.open()]);
  });

  afterAll(async () => {
    await browser?.close();
    await site?.stop();
  });

  return {
    get browser() {
      return started(browser);
    },
    get site() {
      return started(site);
    },
    open(link = "", options) {
      return openPlayground(this.browser, `${this.site.origin}/${link}`, options);
    },
  };
}

function started<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the playground is there once the tests run");
  return value;
}
