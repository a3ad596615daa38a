import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConfigReader, settingName } from "../../src/cli/gateway/config.ts";
import { guardsOf, serverTlsOf } from "../../src/cli/guard-options.ts";

let folder: string;
let path: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "callwire-settings-"));
  path = join(folder, "gateway.json");
});

afterAll(() => rm(folder, { recursive: true }));

/** What the gateway does with a config before it opens a port. */
async function prepare(settings: object, given: { "rate-limit"?: string } = {}): Promise<void> {
  const upstreams = { a: { url: "http://127.0.0.1:1" } };
  const routes = [{ method: "*", to: "a" }];
  writeFileSync(path, JSON.stringify({ upstreams, routes, ...settings }, null, 2));
  const config = await new ConfigReader().read(path);
  const flags = { ...config.flags, ...given } as Parameters<typeof guardsOf>[0];
  await guardsOf(flags, settingName(given, config));
  await serverTlsOf(flags, settingName(given, config));
}

test.each([
  [{ rateLimit: "many" }, ':13: rateLimit must be a rate such as 100/s or 600/m, not "many"'],
  [{ apiKeys: "no.json" }, ":13: apiKeys: $FOLDER/no.json: no such file"],
  [{ apiKeys: "gateway.json" }, ":13: apiKeys: $FOLDER/gateway.json: must be a JSON array of"],
  [{ tls: { cert: "gateway.json", key: "no.pem" } }, ":15: tls.key: no such file: $FOLDER/no.pem"],
  [
    { tls: { cert: "gateway.json", key: "gateway.json" } },
    ":14: tls.cert and $FOLDER/gateway.json:15: tls.key: not a certificate and its key in PEM",
  ],
  [{ routes: [{ method: "*", to: "b" }] }, ':10: routes.0.to: the route "*" names an unknown'],
  [{ upstreams: { a: { url: "gopher://x" } } }, ":4: upstreams.a.url: "],
  [{ upstreams: { a: { urls: ["http://a", "x"] } } }, ":6: upstreams.a.urls.1: "],
  [
    { upstreams: { a: { url: "http://a", headers: { k: "$CALLWIRE_NOT_SET" } } } },
    ":6: upstreams.a.headers.k needs the environment variable CALLWIRE_NOT_SET",
  ],
])("a wrong setting is named with its file, line and path: %j", async (settings, expected) => {
  const { message } = (await prepare(settings).catch((error: unknown) => error)) as Error;
  expect(message).toContain(`${path}${expected.replaceAll("$FOLDER", folder)}`);
});

test("an option that replaces a setting is named as an option", async () => {
  const settled = prepare({ rateLimit: "10/s" }, { "rate-limit": "few" });
  await expect(settled).rejects.toThrow("--rate-limit must be a rate such as 100/s");
});
