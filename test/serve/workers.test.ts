import { writeFile } from "node:fs/promises";
import { createClient, retry } from "callwire";
import { httpLink } from "callwire/http";
import { webSocketLink } from "callwire/ws";
import { expect, onTestFinished, test } from "vitest";
import { builtWithFolder } from "../cli/folder.ts";
import { type Process, type StartOptions, start } from "../cli/process.ts";

const inFolder = builtWithFolder();

async function serveWorkers(
  source: string,
  flags: readonly string[],
  options?: StartOptions,
): Promise<Process & { readonly origin: string; readonly module: string }> {
  const module = inFolder(`methods-${Math.random().toString(36).slice(2)}.mjs`);
  await writeFile(module, source);
  const served = start(["serve", module, "--port", "0", "--log", "json", ...flags], options);
  onTestFinished(() => served[Symbol.asyncDispose]());
  const [origin] = await served.shown(/http:\/\/127\.0\.0\.1:\d+/, "stderr");
  return Object.assign(served, { origin, module });
}

const methods = `
  export const pid = () => process.pid;
  export const crash = () => void setImmediate(() => process.kill(process.pid, "SIGKILL"));
`;

/** The processes that answer, asked over a new connection each time until this many are known. */
async function pids(origin: string, count: number): Promise<Set<number>> {
  const found = new Set<number>();
  while (found.size < count) found.add(await ask(origin));
  return found;
}

async function ask(origin: string): Promise<number> {
  const client = createClient(httpLink(`${origin}/rpc`), { use: [retry()] });
  try {
    return await client.call<number>("pid");
  } finally {
    await client.close();
  }
}

test("workers share a port, and one page has the metrics of all", async () => {
  const served = await serveWorkers(methods, ["--workers", "2", "--metrics"]);
  const { origin } = served;
  const found = await pids(origin, 2);
  expect(found.has(served.child.pid ?? 0)).toBe(false);
  const counted = async (): Promise<number> => {
    const text = await (await fetch(`${origin}/metrics`)).text();
    return Number(/^callwire_calls_total\{method="pid",transport="http"\} (\d+)$/m.exec(text)?.[1]);
  };
  const before = await counted();
  expect(before).toBeGreaterThanOrEqual(2);
  for (let i = 0; i < 5; i++) await ask(origin);
  expect(await counted()).toBe(before + 5);
  const [start] = await served.shown(/^.*serves 2 methods.*$/m, "stderr");
  expect(served.stderr.match(/serves 2 methods/g)).toHaveLength(1);
  expect(JSON.parse(start)).toMatchObject({
    level: "info",
    addresses: expect.arrayContaining([{ wire: "HTTP", address: `${origin}/rpc` }]),
  });
  // A banner would not be JSON.
  expect(served.stdout).toBe("");

  // The counts of workers that have ended remain.
  served.child.kill("SIGHUP");
  await served.shown(/restarted 2 workers/, "stderr");
  expect(await counted()).toBe(before + 5);
  const socket = createClient(webSocketLink(`${origin.replace("http", "ws")}/rpc`));
  onTestFinished(() => socket.close());
  expect(found.has(await socket.call<number>("pid"))).toBe(false);
});

test("a rolling restart replaces all workers and loses no call", async () => {
  const served = await serveWorkers(methods, ["--workers", "2"]);
  const old = await pids(served.origin, 2);
  const client = createClient(httpLink(`${served.origin}/rpc`));
  onTestFinished(() => client.close());
  let isOver = false;
  let calls = 0;
  const caller = async (): Promise<void> => {
    for (; !isOver; calls++) await client.call("pid");
  };
  const callers = Promise.all([caller(), caller(), caller(), caller()]);
  served.child.kill("SIGHUP");
  await served.shown(/restarted 2 workers/, "stderr");
  isOver = true;
  await callers;
  expect(calls).toBeGreaterThan(0);
  for (const pid of await pids(served.origin, 2)) expect(old.has(pid)).toBe(false);
});

test("SIGHUP while the workers start waits until they have started", async () => {
  const served = await serveWorkers(methods, ["--workers", "2"]);
  served.child.kill("SIGHUP");
  await served.shown(/restarted 2 workers/, "stderr");
});

test("a worker that crashed is replaced, and the others answer meanwhile", async () => {
  const served = await serveWorkers(methods, ["--workers", "2"]);
  await pids(served.origin, 2);
  const client = createClient(httpLink(`${served.origin}/rpc`));
  onTestFinished(() => client.close());
  await client.call("crash").catch(() => {});
  const [line] = await served.shown(/^.*"a worker exited unexpectedly".*SIGKILL.*$/m, "stderr");
  const found = await pids(served.origin, 2);
  expect(found).not.toContain(JSON.parse(line).pid);

  // Without workers only the pause before the next one keeps the process alive.
  for (const pid of found) process.kill(pid, "SIGKILL");
  await served.shown(/(?:exited unexpectedly.*){3}/s, "stderr");
  await expect.poll(() => ask(served.origin).catch(() => 0)).toBeGreaterThan(0);
});

test("--watch serves the changed module; one that cannot start changes nothing", async () => {
  const served = await serveWorkers("export const text = () => 'one';", ["--watch"]);
  const text = async (): Promise<unknown> => {
    const client = createClient(httpLink(`${served.origin}/rpc`), { use: [retry()] });
    onTestFinished(() => client.close());
    return client.call("text");
  };
  expect(await text()).toBe("one");
  await writeFile(served.module, "export const text = ;");
  await served.shown(/kept the previous workers/, "stderr");
  expect(await text()).toBe("one");
  await writeFile(served.module, "export const text = () => 'two';");
  await served.shown(/restarted 1 workers/, "stderr");
  expect(await text()).toBe("two");
});

test("a signal stops all workers after their calls, whatever preloaded modules wait for", async () => {
  const waiting = "--import=data:text/javascript,setInterval(()=>{},1e6)";
  const served = await serveWorkers(
    "export const slow = () => new Promise((r) => { console.error('began'); setTimeout(r, 500, 'done'); });",
    ["--workers", "2"],
    { env: { NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} ${waiting}` } },
  );
  const client = createClient(httpLink(`${served.origin}/rpc`));
  onTestFinished(() => client.close());
  const call = client.call("slow");
  await served.shown(/began/, "stderr");
  served.child.kill("SIGTERM");
  expect(await call).toBe("done");
  expect((await served.exited).code).toBe(0);
});
