import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Principal, Transport } from "callwire";
import { type ApiKeyRecord, apiKeys } from "callwire/security/keys";
import { httpSigner, signedRequests } from "callwire/security/signing";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { build, finish } from "./process.ts";

beforeAll(build);

function headed(headers: Transport["headers"]): Transport {
  return { kind: "http", headers, remoteAddress: undefined };
}

test("an API key and its record fit", async () => {
  const args = [
    "--id",
    "ci",
    "--roles",
    "deploy, read",
    "--scopes",
    "a",
    "--expires",
    "2999-01-01",
  ];
  const { code, stdout, stderr } = await finish(["keys", "create", "--json", ...args]);
  expect([code, stderr]).toEqual([0, ""]);
  const { secret, record } = JSON.parse(stdout) as { secret: string; record: ApiKeyRecord };
  const principal: Principal = { id: "ci", roles: ["deploy", "read"], scopes: ["a"] };
  expect(record).toMatchObject({ id: "ci", principal, notAfter: "2999-01-01T00:00:00.000Z" });
  const who = await apiKeys([record]).verify(headed({ "x-api-key": secret }));
  // A connection that was opened with it ends with it.
  expect(who).toEqual({ ...principal, expiresAt: Date.parse("2999-01-01") });
});

test("--store adds the record to a file, and prints nothing but the secret", async () => {
  const folder = await mkdtemp(join(tmpdir(), "callwire-keys-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "keys.json");
  const create = (id: string) => finish(["keys", "create", "--id", id, "--store", file]);
  const [one, other] = [await create("one"), await create("other")];
  const records = JSON.parse(await readFile(file, "utf8"));
  for (const [id, { stdout }] of Object.entries({ one, other })) {
    const who = await apiKeys(records).verify(headed({ "x-api-key": stdout.trimEnd() }));
    expect(who).toMatchObject({ id });
  }
  expect(await create("one")).toMatchObject({
    code: 2,
    stdout: "",
    stderr: `callwire: ${file} has a key with the id "one"; use another id\n`,
  });
  await writeFile(file, '{ "id": "one" }');
  expect((await create("third")).stderr).toBe(
    `callwire: ${file}: must be a JSON array of records\n`,
  );
  expect(await readdir(folder)).toEqual(["keys.json"]);
});

test("shows the secret once, apart from what is stored", async () => {
  const { stdout } = await finish(["keys", "create", "--id", "ci"]);
  const [, secret = ""] = /^ci\.([\w-]{43})$/m.exec(stdout) ?? [];
  expect(secret).not.toBe("");
  expect(stdout.split(secret)).toHaveLength(2);
  expect(stdout.slice(stdout.indexOf("to store"))).not.toContain(secret);
});

test.each(["hmac-sha256", "ed25519"])("keys that sign and verify fit, %s", async (type) => {
  const { stdout } = await finish(["keys", "create", "--json", "--type", type, "--id", "k"]);
  const { secret, record } = JSON.parse(stdout);
  if (type === "ed25519") expect(record.key).not.toContain("PRIVATE");
  expect(secret).toMatchObject({ kid: "k", alg: type });
  // Created first: it accepts nothing that is older than itself.
  const credential = signedRequests({ keys: [record] });
  const body = '{"jsonrpc":"2.0","method":"add","id":1}';
  const headers = await httpSigner({ key: secret }).sign({
    method: "POST",
    url: "http://localhost/rpc",
    headers: { "content-type": "application/json" },
    body,
  });
  const http = {
    method: "POST",
    authority: "localhost",
    target: "/rpc",
    body,
    signReply: undefined,
  };
  const who = await credential.verify({ ...headed(headers), http });
  expect(who).toEqual({ id: "k" });
});

test.each([
  [["keys"], "create"],
  [["keys", "make"], "create"],
  [["keys", "create", "more"], "more"],
  [["keys", "create", "--type", "rsa"], "rsa"],
  [["keys", "create", "--id", "a b"], "1 to 64"],
  [["keys", "create", "--type", "ed25519", "--id", 'a"b'], "kid"],
  [["keys", "create", "--roles", "x"], "--principal"],
  [["keys", "create", "--expires", "soon"], "must be a date"],
  [["keys", "create", "--expires", "2999-02-31"], "must be a date"],
  [["keys", "create", "--expires", "1999-01-01"], "must be in the future"],
])("%j is refused in one line", async (args, word) => {
  const { code, stdout, stderr } = await finish(args);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect(stderr).toContain(word);
});
