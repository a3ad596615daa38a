import { createServer, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { authenticate, authorize, bearer, type Credential } from "callwire/security";
import { expect, onTestFinished, test } from "vitest";
import { methods } from "../../examples/demo/methods.ts";
import { describeWith } from "../services.ts";
import { loadAxe } from "./axe.ts";
import { openPage, type WatchedPage } from "./launch.ts";
import { call, callButton, connected, outcome } from "./playground-page.ts";
import { usePlayground } from "./use-playground.ts";

const token = bearer((given) => (given === "of-ada" ? { id: "ada" } : undefined));
const key: Credential = {
  challenge: "ApiKey",
  verify: ({ headers }) => (headers["x-api-key"] === "of-ada" ? { id: "ada" } : undefined),
};

describeWith(["playwright", "chromium"], "a server that requires a credential", () => {
  const playground = usePlayground();

  async function serve(anonymous: readonly string[] = []): Promise<string> {
    const use = [
      authenticate([token, key], { anonymous }),
      authorize({ allow: [{ methods: "**" }], deny: [{ methods: "math/sqrt" }] }),
    ];
    const server = createServer(methods, { use, log: silentLog });
    onTestFinished(() => server.close());
    const { url } = await serveHttp(server, { port: 0, playground: true });
    return new URL("/", url).href;
  }

  const asked = (page: WatchedPage) =>
    page.getByRole("heading", { name: "The server requires a credential" });

  test("shows the token field instead of the method, and which credentials are accepted", async () => {
    await using page = await openPage(playground.browser, await serve());
    await asked(page).waitFor();
    await page.getByText("Credential needed", { exact: true }).waitFor();
    await page.getByText('Bearer realm="callwire", ApiKey realm="callwire"').waitFor();
    expect(await page.getByText("does not describe itself").count()).toBe(0);
    await page.getByLabel("Bearer token").fill("of-nobody");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText('Bearer realm="callwire", error="invalid_token"').waitFor();
    await page.getByLabel("Bearer token").fill("of-ada");
    await page.getByLabel("Bearer token").press("Enter");
    await connected(page);
    await call(page);
  });

  test("is shown a header of any name, in the connection", async () => {
    await using page = await openPage(playground.browser, await serve());
    await page
      .getByRole("navigation", { name: "Methods" })
      .getByRole("button", { name: "Show a credential" })
      .click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Headers").fill("x-api-key: of-ada");
    await dialog.getByRole("button", { name: "Done" }).click();
    await connected(page);
    await call(page);
  });

  test("is reported over WebSocket too, where a page cannot send one", async () => {
    await using page = await openPage(playground.browser, `${await serve()}#wire=websocket`);
    await asked(page).waitFor();
    await page.getByLabel("Bearer token").fill("of-ada");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Browsers send no headers with a WebSocket").waitFor();
    await asked(page).waitFor();
    await page.getByRole("radio", { name: "HTTP" }).check();
    await connected(page);
    await call(page);
  });

  test("for some methods only shows the token field after a call of one of them", async () => {
    await using page = await openPage(playground.browser, await serve(["rpc.discover", "echo"]));
    await connected(page);
    await page.getByRole("searchbox", { name: "Search methods" }).fill("math/add");
    await page.getByRole("button", { name: "Call “math/add” all the same" }).click();
    await callButton(page).click();
    await outcome(page).getByText("-32001").waitFor();
    await outcome(page).getByRole("button", { name: "Show a credential" }).click();
    await page.getByRole("dialog").getByLabel("Bearer token").fill("of-ada");
    await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
    await page.getByRole("region", { name: "math", exact: true }).waitFor();
  });

  test.each(["light", "dark"] as const)(
    "is nothing that axe finds fault with in %s",
    async (colorScheme) => {
      const options = { colorScheme, bypassCSP: true, viewport: { width: 400, height: 800 } };
      await using page = await openPage(playground.browser, await serve(), options);
      await asked(page).waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(400);
      const faults = await loadAxe(page);
      expect(await faults()).toEqual([]);
    },
  );
});
