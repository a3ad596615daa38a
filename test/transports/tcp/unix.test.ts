import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer as createNetServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, createServer, method, silentLog } from "callwire";
import { serveSocket, unixLink } from "callwire/tcp";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { bundle } from "../bundle.ts";

const service = () =>
  createServer(
    {
      echo: (value: unknown) => value,
      where: method({}, (_, { transport }) => ({ ...transport, headers: undefined })),
    },
    { log: silentLog },
  );

/** A user who owns nothing else. */
const nobody = 65_534;

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "callwire-"));
  path = join(folder, "rpc.sock");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

async function echo(): Promise<unknown> {
  await using client = createClient(unixLink(path));
  return await client.call("echo", ["hi"]);
}

/** A socket file without a server, as a killed process leaves it. */
async function leaveStaleSocket(): Promise<void> {
  const server = createNetServer();
  await new Promise<void>((resolve) => server.listen(join(folder, "dying"), resolve));
  renameSync(join(folder, "dying"), path);
  await new Promise((resolve) => server.close(resolve));
  expect(existsSync(path)).toBe(true);
}

describe("a unix socket", () => {
  test("needs no more than its own folder", async () => {
    const own = join(folder, "own");
    mkdirSync(own);
    path = join(own, "rpc.sock");
    if (process.geteuid?.() === 0) {
      // root may do everything.
      chmodSync(folder, 0o755);
      chownSync(own, nobody, nobody);
      process.seteuid?.(nobody);
      onTestFinished(() => process.seteuid?.(0));
    } else {
      chmodSync(folder, 0o555);
      onTestFinished(() => chmodSync(folder, 0o755));
    }
    await using _ = await serveSocket(service(), { path });
    expect(readdirSync(own)).toEqual(["rpc.sock"]);
    expect(await echo()).toBe("hi");
  });

  test("is served, and goes with the server", async () => {
    const socket = await serveSocket(service(), { path });
    expect(socket.path).toBe(path);
    expect(socket.port).toBeUndefined();
    expect(await echo()).toBe("hi");
    await using client = createClient(unixLink(path));
    expect(await client.call("where")).toEqual({ kind: "unix" });
    await socket.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("is open to its owner alone from the start, whatever the umask", () => {
    const program = bundle(new URL("./fixtures/socket-mode.ts", import.meta.url));
    for (const umask of ["000", "022", "077"]) {
      const args = [program, path, umask];
      expect(execFileSync(process.execPath, args, { encoding: "utf8" })).toBe("600");
    }
  });

  test("replaces a stale one", async () => {
    await leaveStaleSocket();
    await using _ = await serveSocket(service(), { path });
    expect(await echo()).toBe("hi");
  });

  test("does not replace one that is served", async () => {
    await using _ = await serveSocket(service(), { path });
    await expect(serveSocket(service(), { path })).rejects.toMatchObject({
      code: "EADDRINUSE",
      message: `cannot listen on ${path}: another server listens there`,
    });
    expect(await echo()).toBe("hi");
    expect(readdirSync(folder)).toEqual(["rpc.sock"]);
  });

  test("does not replace a file that is not a socket", async () => {
    writeFileSync(path, "precious");
    await expect(serveSocket(service(), { path })).rejects.toMatchObject({ code: "EADDRINUSE" });
    expect(lstatSync(path).isFile()).toBe(true);
    expect(readdirSync(folder)).toEqual(["rpc.sock"]);
  });

  test("of a later server stays when an earlier one closes", async () => {
    const first = await serveSocket(service(), { path });
    rmSync(path);
    await using _ = await serveSocket(service(), { path });
    await first.close();
    expect(await echo()).toBe("hi");
  });

  test("in a folder that does not exist is an error that names it", async () => {
    const missing = join(folder, "missing", "rpc.sock");
    await expect(serveSocket(service(), { path: missing })).rejects.toThrow(/ENOENT.*missing/);
  });

  test("that does not exist fails the call, which names it", async () => {
    await expect(echo()).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: expect.stringContaining(path),
    });
  });
});
