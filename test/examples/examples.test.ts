import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { build, environment } from "../cli/process.ts";
import { root } from "../entries.ts";
import { isFull } from "../full.ts";
import { requireService } from "../services.ts";

const run = promisify(execFile);

/** What each example prints; ports and times are shown as 0. */
const expected: Readonly<Record<string, readonly string[]>> = {
  quickstart: listening(quickstart()),
  express: listening(quickstart()),
  fastify: listening(quickstart()),
  "node-http": listening(quickstart()),
  hono: ["2 + 3 = 5", "count 0", "count 1", "count 2", "count 3"],
  "contract-first": listening([
    "Found: The C Programming Language",
    "There is no book 0",
    "Listed: Structure and Interpretation of Computer Programs",
  ]),
  python: ["{ be: 2, not: 1, or: 1, to: 2 }", "gateway", "-32601 Method not found"],
  ethereum: [
    "A chain at http://127.0.0.1:0/",
    "chain 1337, balance 10000 ether",
    "heard of 3 new blocks, none missing",
    "unsubscribed: true",
  ],
  board: [
    "Listening on http://127.0.0.1:0/ (log in as ann with apple, or as bob with banana)",
    "wrong password",
    "changed: created Water the plants",
    "done: true",
    "there is no task none",
    "plants.txt: twice a week",
    "checked 1 of 1",
    "ann: 0 open, 1 done",
  ],
  photo: [
    "Listening on http://127.0.0.1:0/",
    "sea.png: 800 x 600, its thumbnail: 200 x 150, image/jpeg",
  ],
  next: [
    "created over HTTP: Water the plants",
    "rendered on the server: true",
    'from a route: [{"title":"Water the plants","done":false}]',
  ],
  vue: ["<p>2 + 3 = 5</p>", "for the page: 5"],
  "a2a-tck": [
    "Listening on http://127.0.0.1:0/a2a",
    "Found TCK agent",
    "TASK_STATE_WORKING",
    "first chunk ",
    "second chunk",
    "TASK_STATE_COMPLETED",
  ],
  "mcp-everything": ["Listening on http://127.0.0.1:0/mcp", "37 tools", "Hello, Ada!"],
  "mcp-agents": [
    "planner met librarian (modern)",
    "librarian met planner (modern)",
    "A day in Paris: the Louvre.",
  ],
  "language-server": [
    "tally offers rename: true",
    "line 3: tax has no value",
    'hover: {"kind":"markdown","value":"**price** = 6"}',
    "completion: apples, price",
    "apples=3",
    "cost = apples*2 # euros",
    "total = cost + tax",
    "apples = 3",
    "price = apples * 2 # euros",
    "total = price + tax",
  ],
  "bring-your-own-wire": ["2 + 3 = 5", "Hello, UDP"],
  security: [
    "nobody:          401 Unauthenticated",
    "a made-up key:   401 Unauthenticated (api-key-invalid)",
    'ann lists:       200 ["milk","bread","a ladder"]',
    "ann wipes:       403 Forbidden",
    "ann, no method:  403 Forbidden",
    'root wipes:      200 "wiped"',
    "robot adds:      200 4",
    "the same again:  401 Unauthenticated (replayed)",
    "tampered with:   401 Unauthenticated (signature-invalid)",
    'first report:    200 "a long report"',
    "second report:   429 Rate limited (rate-limited), again in 0 s",
    "audit log:",
    "  deny  nobody notes/list no credential",
    "  deny  nobody notes/list the API key is not valid",
    "  allow ann    notes/list",
    "  deny  ann    notes/wipe the policy does not allow it",
    "  deny  ann    notes/none the policy does not allow it",
    "  allow root   notes/wipe",
    "  allow robot  notes/add",
    "  deny  nobody notes/add replayed",
    "  deny  nobody notes/add signature-invalid",
    "  allow ann    report",
    "  deny  ann    report the rate limit by principal",
  ],
  agents: [
    "planner: yes search/web, no  plan/show, no  system/users/remove, no  files/read, no  files/write",
    "researcher: no  search/web, yes plan/show, no  system/users/remove, no  files/read, no  files/write",
    "operator: no  search/web, yes plan/show, yes system/users/remove, no  files/read, no  files/write",
    "untrusted-tool: no  search/web, no  plan/show, no  system/users/remove, yes files/read, no  files/write",
    "refused and written down: 15 of 20",
  ],
  signing: [
    "headers: alice",
    "params: 100 moved by bob",
    "sent twice: replayed",
    "changed: signature-invalid",
    "unsigned: signature-missing",
    "TCP: alice",
  ],
  tracing: [
    "The order is placed.",
    "1 trace:",
    "caller calls: shop/buy, 0 ms",
    "└─ front answers over http: shop/buy, 0 ms",
    "   └─ front calls: orders/place, 0 ms",
    "      └─ orders answers over websocket: orders/place, 0 ms",
    "         └─ orders calls: stock/reserve, 0 ms",
    "            └─ stock answers over stdio: stock/reserve, 0 ms",
  ],
  "every-wire": ["HTTP", "SSE", "WebSocket", "TCP", "unix socket", "stdio", "worker", "memory"].map(
    (wire) => `${wire}: hello, 2 + 3 = 5, counted 0 1 2 3`,
  ),
  "nats-accounts": [
    "blue: 2 + 3 = 5",
    "blue: counted 0 1 2 3",
    "green overheard 0 messages",
    "green: 20 + 22 = 42",
  ],
  "scale-out": [
    "NATS, 4 workers and a gateway at http://127.0.0.1:0/rpc",
    "four workers: 2000 calls, all answered, by 1 2 3 4",
    "worker 2 is killed: 2000 calls, all answered, by 1 2 3 4",
    "three workers: 2000 calls, all answered, by 1 3 4",
    "worker 2 is back: 2000 calls, all answered, by 1 2 3 4",
    "all are restarted, one by one: 2000 calls, all answered, by 1 2 3 4",
    "stopped",
  ],
};

/** What examples need beside npm install. */
const needs: Readonly<Record<string, string>> = {
  board: "board example",
  next: "next example",
  "nats-accounts": "nats-server",
  photo: "photo example",
  python: "python3",
  "scale-out": "nats-server",
  tracing: "tracing example",
  vue: "vue example",
};

function quickstart(): string[] {
  return [
    "2 + 3 = 5",
    "2 + 3 = 5",
    "count 0",
    "count 1",
    "count 2",
    "count 3",
    "in one batch: 3 hi",
    "refused: -32602 Invalid params",
  ];
}

function listening(lines: readonly string[]): string[] {
  return ["Listening on http://127.0.0.1:0/rpc", ...lines];
}

beforeAll(build);

test("every example is run here, and the list of them is whole", async () => {
  const { stdout } = await run(process.execPath, ["examples/run.mjs"], { cwd: root });
  const [, list = ""] = /<(.*)>/.exec(stdout) ?? [];
  const folders = readdirSync(join(root, "examples"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    // The methods of `callwire demo`, which test/seeds runs, files that deploy.test.ts checks, and what test/runtimes runs.
    .filter((name) => !["demo", "deploy", "runtimes"].includes(name));
  expect(list.split(" | ").sort()).toEqual(folders.sort());
  expect(Object.keys(expected).sort()).toEqual(folders.sort());
});

/** The output without the warnings of a gateway whose targets take longer to start than its first check. */
function withoutSlowStarts(stderr: string): string {
  const isSlowStart = (line: string): boolean =>
    /"a target is not available".*"rpc\.discover did not answer in time"|"a target is available again"/.test(
      line,
    );
  return stderr
    .split("\n")
    .filter((line) => !isSlowStart(line))
    .join("\n");
}

/**
 * One kills and restarts workers under load, the other builds an application; each takes as long as
 * all others together.
 */
const isLong = (name: string): boolean => name === "scale-out" || name === "next";

test.for(Object.entries(expected).filter(([name]) => isFull || !isLong(name)))(
  "%s prints what it should",
  // The longest starts a dozen processes, one after the other.
  { timeout: 180_000 },
  async ([name, lines], { skip }) => {
    const needed = needs[name];
    const found = needed === undefined ? {} : requireService(needed);
    if ("missing" in found) skip(`${needed}: ${found.missing}`);
    const { stdout, stderr } = await run(process.execPath, ["examples/run.mjs", name], {
      cwd: root,
      env: environment,
      timeout: 170_000,
    });
    expect(withoutSlowStarts(stderr)).toBe("");
    expect(
      stdout
        .replace(/:\d+\//g, ":0/")
        .replace(/[\d.]+ (m?s)$/gm, "0 $1")
        .trim()
        .split("\n"),
    ).toEqual(lines);
  },
);

test("an example that is not there is refused", async () => {
  const refused = run(process.execPath, ["examples/run.mjs", "nothing"], { cwd: root });
  await expect(refused).rejects.toMatchObject({ code: 2, stderr: "no example nothing\n" });
});
