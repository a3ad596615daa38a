/** `callwire mcp` signs in at a real authorization server. */
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build, finish, type Process, start, startInTerminal } from "../../cli/process.ts";
import { ownPort } from "../../own-port.ts";
import { describeWith } from "../../services.ts";
import { type GuardedServer, startGuardedServer } from "./guarded-server.ts";
import type { SignInServer } from "./sign-in-server.ts";

describeWith(["mcp peers"], "callwire mcp, with oidc-provider", () => {
  let parts: typeof import("./sign-in-server.ts");
  let as: SignInServer;
  let server: GuardedServer;
  let folder: string;
  let file: string;

  beforeAll(async () => {
    await build();
    parts = await import("./sign-in-server.ts");
    as = await parts.startSignInServer();
    server = await startGuardedServer(as.issuer);
    folder = await mkdtemp(join(tmpdir(), "callwire-sign-in-"));
    file = join(folder, "tokens.json");
  });

  afterAll(async () => {
    await server.close();
    await as.close();
    await rm(folder, { recursive: true });
  });

  /** Visits the address that the command shows, as a browser would, and returns to it. */
  async function visit(process: Process, on: "stdout" | "stderr" = "stderr"): Promise<Response> {
    const [, address = ""] = await process.shown(/(http:\/\/\S+\/auth\?\S+)\s/, on);
    const back = await parts.signIn(new URL(address));
    expect(back).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback\?/);
    return fetch(back);
  }

  test("the address is printed, and the browser is awaited", async () => {
    await using process = start(["mcp", server.url, "call", "who", "--sign-in"]);
    const [, port = ""] = await process.shown(
      /redirect_uri=http%3A%2F%2F127.0.0.1%3A(\d+)/,
      "stderr",
    );
    // Any page can make a browser send this.
    for (const path of ["/", "callback", "callback?code=x&state=guessed", "callback?error=x"]) {
      expect((await fetch(`http://127.0.0.1:${port}/${path}`)).status).toBe(404);
    }
    const page = await visit(process);
    expect(await page.text()).toContain("You are signed in");
    expect(await process.exited).toMatchObject({ code: 0, stdout: "ada\n" });
  });

  test("tokens are stored in a file that only the user can read, and used by the next command", async () => {
    await using process = start(["mcp", server.url, "call", "who", "--token-file", file]);
    await visit(process);
    expect((await process.exited).stdout).toBe("ada\n");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const args = ["mcp", server.url, "call", "who", "--token-file", file];
    expect(await finish(args)).toEqual({ code: 0, stdout: "ada\n", stderr: "" });
    // A token that the server no longer accepts is renewed.
    server.revoked.add(server.sent.at(-1) as string);
    expect(await finish(args)).toEqual({ code: 0, stdout: "ada\n", stderr: "" });
  });

  test("what another command has written into the file meanwhile stays there", async () => {
    const shared = join(folder, "shared.json");
    await using process = start(["mcp", server.url, "call", "who", "--token-file", shared]);
    await process.shown(/\/auth\?\S+\n/, "stderr");
    const others = { "tokens https://other.example/mcp": "{}" };
    const kept = JSON.parse(await readFile(shared, "utf8"));
    await writeFile(shared, JSON.stringify({ ...kept, ...others }));
    await visit(process);
    expect((await process.exited).stdout).toBe("ada\n");
    const after = JSON.parse(await readFile(shared, "utf8"));
    expect(after).toMatchObject(others);
    expect(Object.keys(after)).toContain(`tokens ${server.url}`);
  });

  test("the client is registered with its port, and registers again if that port is in use", async () => {
    // By the time of the next command, another process may have a port that the system chose.
    const known = join(folder, "known.json");
    await writeFile(known, JSON.stringify({ port: `${await ownPort()}` }), { mode: 0o600 });
    await using first = start(["mcp", server.url, "call", "who", "--token-file", known]);
    await visit(first);
    expect((await first.exited).stdout).toBe("ada\n");
    const kept = JSON.parse(await readFile(known, "utf8"));
    const registrations = () => as.seen.filter((line) => line === "POST /reg").length;
    const before = registrations();
    // A missing scope requires another sign-in, as the same client.
    await using same = start(["mcp", server.url, "call", "write", "--token-file", known]);
    await visit(same);
    expect((await same.exited).stdout).toBe("written\n");
    expect(registrations()).toBe(before);
    const { createServer } = await import("node:net");
    const taken = createServer();
    // The token is accepted, whoever sends it.
    await new Promise<void>((resolve) =>
      taken.on("error", () => resolve()).listen(Number(kept.port), "127.0.0.1", resolve),
    );
    await writeFile(known, JSON.stringify({ ...kept, [`tokens ${server.url}`]: "" }));
    await using other = start(["mcp", server.url, "call", "who", "--token-file", known]);
    await visit(other);
    expect((await other.exited).stdout).toBe("ada\n");
    expect(registrations()).toBe(before + 1);
    expect(JSON.parse(await readFile(known, "utf8")).port).not.toBe(kept.port);
    await new Promise((resolve) => taken.close(resolve));
  });

  test("a user who is refused gets an error", async () => {
    await using process = start(["mcp", server.url, "call", "who", "--sign-in"]);
    const [, address = ""] = await process.shown(/(http:\/\/\S+\/auth\?\S+)\s/, "stderr");
    const { searchParams } = new URL(address);
    const back = new URL(searchParams.get("redirect_uri") ?? "");
    const denied = {
      error: "access_denied",
      iss: as.issuer,
      state: searchParams.get("state") ?? "",
    };
    back.search = String(new URLSearchParams(denied));
    expect(await (await fetch(new URL("/other", back))).text()).toContain("Not found");
    expect(await (await fetch(back)).text()).toContain("not signed in");
    const { code, stderr } = await process.exited;
    expect(stderr).toContain(
      "signing in failed: the authorization server refused the sign-in: access_denied",
    );
    expect(code).toBe(1);
  });

  test("Ctrl-C ends the wait", async () => {
    await using process = start(["mcp", server.url, "call", "who", "--sign-in"]);
    await process.shown(/\/auth\?\S+\n/, "stderr");
    process.child.kill("SIGINT");
    const { code, stderr } = await process.exited;
    expect(stderr).toContain("callwire: cancelled");
    expect(code).toBe(130);
  });

  test("without a terminal and without the flag, both ways in are named", async () => {
    const { code, stderr } = await finish(["mcp", server.url, "tools"]);
    expect(stderr).toMatch(/status 401\); use --sign-in, or --bearer with a token/);
    expect(code).toBe(1);
  });

  describeWith(["pseudo-terminals"], "at a terminal", () => {
    test("a server that wants it is signed in to without a flag", async () => {
      await using process = startInTerminal(["mcp", server.url, "call", "who"]);
      await visit(process, "stdout");
      const { code, stdout } = await process.exited;
      expect([code, stdout.trimEnd().split("\r\n").at(-1)]).toEqual([0, "ada"]);
    });
  });

  test("invalid combinations are reported before anything is sent", async () => {
    const open = join(folder, "open.json");
    await writeFile(open, "{}", { mode: 0o644 });
    const broken = join(folder, "broken.json");
    await writeFile(broken, "[1]", { mode: 0o600 });
    const mistakes: [string[], RegExp][] = [
      [[server.url, "tools", "--sign-in", "--bearer", "x"], /cannot be combined with a token/],
      [["stdio:cat", "tools", "--sign-in"], /signing in needs an HTTP address/],
      [[server.url, "tools", "--token-file", open], /is readable by other users; .*chmod 600/],
      [[server.url, "tools", "--token-file", broken], /is not a token file/],
    ];
    for (const [args, line] of mistakes) {
      const { code, stderr } = await finish(["mcp", ...args]);
      expect(stderr).toMatch(line);
      expect(code).toBe(2);
    }
  });
});
