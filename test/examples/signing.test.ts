import { execFile } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build, Process } from "../cli/process.ts";
import { root } from "../entries.ts";
import { describeWith } from "../services.ts";

const run = promisify(execFile);

describeWith(["curl", "openssl", "pylsp-jsonrpc"], "examples/signing", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519", {
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const SIGNING_KEY = randomBytes(32).toString("base64url");
  let folder: string;
  let server: Process;
  let url: string;

  beforeAll(async () => {
    await build();
    folder = await mkdtemp(join(tmpdir(), "callwire-signing-"));
    const KEY_FILE = join(folder, "private.pem");
    const PUBLIC_KEY_FILE = join(folder, "public.pem");
    await writeFile(KEY_FILE, privateKey, { mode: 0o600 });
    await writeFile(PUBLIC_KEY_FILE, publicKey);
    const loader = join(root, "examples", "typescript.mjs");
    server = new Process(process.execPath, ["--import", loader, "examples/signing/server.ts"], {
      env: { SIGNING_KEY, PUBLIC_KEY_FILE, PORT: "0" },
    });
    [url] = (await server.shown(/http:\S+/)) as [string];
  });

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  async function script(command: string, args: string[], env: Record<string, string> = {}) {
    const keys = { SIGNING_KEY, KEY_FILE: join(folder, "private.pem"), ...env };
    const { stdout } = await run(command, args, { cwd: root, env: { ...process.env, ...keys } });
    const { result, error } = JSON.parse(stdout);
    return result ?? error.data.reason;
  }

  const python = (...args: string[]) => script("python3", ["examples/signing/call.py", ...args]);
  const whoami = '{"jsonrpc":"2.0","method":"whoami","id":1}';

  test("Python signs in headers and in params", async () => {
    expect(await python(url, "whoami")).toBe("python");
    expect(await python(`${url}?a=b%20c`, "whoami")).toBe("python");
    const params = '{"amount": 100}';
    expect(await python("--params", url, "transfer", params)).toBe("100 moved by python");
  });

  test("curl and openssl sign", async () => {
    expect(await script("sh", ["examples/signing/call.sh", url, whoami])).toBe("shell");
  });

  test("with other keys they are refused", async () => {
    const env = { SIGNING_KEY: randomBytes(32).toString("base64url") };
    const args = ["examples/signing/call.py"];
    expect(await script("python3", [...args, url, "whoami"], env)).toBe("signature-invalid");
    expect(await script("python3", [...args, "--params", url, "whoami"], env)).toBe(
      "signature-invalid",
    );
    const KEY_FILE = join(folder, "other.pem");
    const other = generateKeyPairSync("ed25519").privateKey.export({
      type: "pkcs8",
      format: "pem",
    });
    await writeFile(KEY_FILE, other);
    const shell = ["examples/signing/call.sh", url, whoami];
    expect(await script("sh", shell, { KEY_FILE })).toBe("signature-invalid");
  });
});
