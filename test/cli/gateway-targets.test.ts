import { writeFile } from "node:fs/promises";
import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import { expect, onTestFinished, test } from "vitest";
import { Behind } from "../gateway/behind.ts";
import { builtWithFolder } from "./folder.ts";
import { type Process, start } from "./process.ts";

const inFolder = builtWithFolder();

async function startGateway(
  upstreams: Record<string, object>,
  ...flags: string[]
): Promise<Process & { readonly origin: string }> {
  const routes = Object.keys(upstreams).map((name) => ({
    method: `${name}/*`,
    to: name,
    rename: "*",
  }));
  const path = inFolder("gateway.json");
  await writeFile(path, JSON.stringify({ upstreams, routes }));
  const gateway = start(["gateway", path, "--port", "0", "--log", "pretty", ...flags]);
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const [origin] = await gateway.shown(/http:\/\/127\.0\.0\.1:\d+/);
  return Object.assign(gateway, { origin });
}

const healthCheck = { everyMs: 50, timeoutMs: 30_000 };

/** The output of the probe once its status is this. */
async function readiness(origin: string, status: number): Promise<unknown> {
  for (;;) {
    const response = await fetch(`${origin}/readyz`);
    if (response.status === status) return response.json();
    await response.body?.cancel();
  }
}

test("a gateway is ready while its required upstreams are, and says when one dies and returns", async () => {
  const [here, away] = await Promise.all([
    Behind.start({ who: () => "behind" }),
    Behind.start({ who: () => "behind" }),
  ]);
  const gateway = await startGateway({
    here: { url: here.url, healthCheck },
    away: { url: away.url, healthCheck, required: true },
  });
  const { origin } = gateway;
  expect(await readiness(origin, 200)).toEqual({
    status: "ready",
    upstreams: { here: "ok", away: "ok" },
  });
  await away.stop();
  const address = away.url.replaceAll(".", "\\.");
  // The reason depends on what was in progress; test/gateway/gone-targets.test.ts tests each
  // reason.
  await gateway.shown(
    new RegExp(`^callwire: a target is not available: away: ${address}: \\S.*\n`, "m"),
    "stderr",
  );
  expect(await readiness(origin, 503)).toEqual({
    status: "not ready",
    upstreams: { here: "ok", away: "no target answers" },
  });
  expect(gateway.stderr.split(away.url)).toHaveLength(2);
  await away.start();
  await gateway.shown(
    new RegExp(`^callwire: a target is available again: away: ${address}\n`, "m"),
    "stderr",
  );
  expect(await readiness(origin, 200)).toMatchObject({ status: "ready" });
  expect(gateway.stderr.trim().split("\n")).toHaveLength(2);
});

test("one dead upstream leaves the gateway ready, and the body names it", async () => {
  const [here, away] = await Promise.all([
    Behind.start({ who: () => "behind" }),
    Behind.start({ who: () => "behind" }),
  ]);
  await away.stop();
  const gateway = await startGateway(
    { here: { url: here.url, healthCheck }, away: { url: away.url, healthCheck } },
    "--metrics",
  );
  const response = await fetch(`${gateway.origin}/readyz`);
  expect([response.status, await response.json()]).toEqual([
    200,
    { status: "ready", upstreams: { here: "ok", away: "no target answers" } },
  ]);
  const metrics = await (await fetch(`${gateway.origin}/metrics`)).text();
  expect(metrics).toContain(`callwire_target_up{upstream="away",target="${away.url}"} 0`);
  const client = createClient(httpLink(`${gateway.origin}/rpc`));
  expect(await client.call("here/who")).toBe("behind");
});

test("a gateway logs JSON with a time unless it writes to a terminal", async () => {
  const behind = await Behind.start({ who: () => "behind" });
  await behind.stop();
  const path = inFolder("json-log.json");
  const config = {
    upstreams: { away: { url: behind.url } },
    routes: [{ method: "*", to: "away" }],
  };
  await writeFile(path, JSON.stringify(config));
  await using gateway = start(["gateway", path, "--port", "0"]);
  const [line] = await gateway.shown(/^\{.*not available.*\}\n/m, "stderr");
  expect(JSON.parse(line)).toMatchObject({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    level: "warn",
    msg: "a target is not available",
    upstream: "away",
    target: behind.url,
  });
});

test("a gateway that starts before its upstream is not ready, and calls it as soon as it runs", async () => {
  const behind = await Behind.start({ who: () => "behind" });
  await behind.stop();
  // For that long it counts as starting, and is called anyway.
  const patient = { everyMs: 600_000, timeoutMs: 30_000 };
  const gateway = await startGateway({
    late: { url: behind.url, healthCheck: patient, required: true },
  });
  expect(await readiness(gateway.origin, 503)).toMatchObject({
    upstreams: { late: "no target answers" },
  });
  await gateway.shown(
    /^callwire: a target is not available: late: \S+: cannot connect: .*ECONNREFUSED.*\n/m,
    "stderr",
  );
  await behind.start();
  const client = createClient(httpLink(`${gateway.origin}/rpc`));
  expect(await client.call("late/who")).toBe("behind");
  expect(await readiness(gateway.origin, 200)).toMatchObject({ upstreams: { late: "ok" } });
});

test("a gateway keeps running when the reader of its log is gone", async () => {
  const [here, away] = await Promise.all([
    Behind.start({ who: () => "here" }),
    Behind.start({ who: () => "away" }),
  ]);
  const gateway = await startGateway({
    here: { url: here.url, healthCheck },
    away: { url: away.url, healthCheck, required: true },
  });
  gateway.child.stderr?.destroy();
  const client = createClient(httpLink(`${gateway.origin}/rpc`));
  for (let i = 0; i < 2; i++) {
    await away.stop();
    await readiness(gateway.origin, 503);
    await away.start();
    await readiness(gateway.origin, 200);
  }
  expect(await client.call("here/who")).toBe("here");
});

test("--metrics counts the calls, and what became of them behind the gateway", async () => {
  const behind = await Behind.start({ who: () => "behind" });
  const gateway = await startGateway(
    { one: { url: behind.url, healthCheck, required: true } },
    "--metrics",
  );
  const client = createClient(httpLink(`${gateway.origin}/rpc`));
  for (let i = 0; i < 3; i++) await client.call("one/who");
  const page = async () => (await fetch(`${gateway.origin}/metrics`)).text();
  const labels = `{upstream="one",target="tcp://127.0.0.1:${behind.port}"}`;
  const counted = await page();
  expect(counted).toContain('callwire_calls_total{method="one/who",transport="http"} 3');
  expect(counted).toContain(`callwire_target_calls_total${labels} 3`);
  expect(counted).toContain(`callwire_target_failures_total${labels} 0`);
  expect(counted).toContain(`callwire_target_up${labels} 1`);
  await behind.stop();
  await readiness(gateway.origin, 503);
  expect(await page()).toContain(`callwire_target_up${labels} 0`);
});

test("what a program behind a gateway says on stderr has its name before each line", async () => {
  const program = inFolder("tool.mjs");
  await writeFile(
    program,
    `process.stderr.write("first\\nsecond\\n\\nno end");
     process.stdin.once("data", () => process.exit(3));`,
  );
  const url = `stdio:"${process.execPath}" ${program} --token hidden`;
  const gateway = await startGateway({ tool: { url } });
  await gateway.shown(/^\[tool\] first\n\[tool\] second\n\[tool\] \n/m, "stderr");
  await gateway.shown(/^\[tool\] no end\n/m, "stderr");
  await gateway.shown(/^callwire: a target is not available: tool: stdio:.*\n/m, "stderr");
  expect(gateway.stderr).not.toContain("hidden");
});
