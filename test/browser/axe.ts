/** The violations that axe finds on a page. */
import { readFile } from "node:fs/promises";
import type { WatchedPage } from "./launch.ts";

/** Resolves when nothing has changed for longer than the editor takes to check its text. */
const untilStill = `new Promise((resolve) => {
  let timer;
  const begin = () => {
    clearTimeout(timer);
    timer = setTimeout(resolve, 1000);
  };
  const changes = { subtree: true, childList: true, attributes: true, characterData: true };
  new MutationObserver(begin).observe(document, changes);
  begin();
})`;

/** The page must be opened with `bypassCSP`, or axe could not run in it. */
export async function loadAxe(page: WatchedPage): Promise<() => Promise<string[]>> {
  const path = new URL("node_modules/axe-core/axe.min.js", import.meta.url);
  await page.addScriptTag({ content: await readFile(path, "utf8") });
  return async () => {
    // axe goes through the page step by step and fails if an element is replaced meanwhile, as the
    // editor does shortly after its text has changed.
    await page.evaluate(untilStill);
    return page.evaluate(
      "axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' ' + target.join(' ') + ' ' + failureSummary)))",
    );
  };
}
