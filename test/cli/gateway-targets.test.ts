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
  const gateway = start(["gateway", path, "--port", "0", ...flags]);
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const [origin] = await gateway.shown(/http:\/\/127\.0\.0\.1:\d+/);
  return Object.assign(gateway, { origin });
}

const healthCheck = { everyMs: 50, timeoutMs: 30_000 };

/** What the probe says once its status is this. */
async function readiness(origin: string, status: number): Promise<unknown> {
  for (;;) {
    const response = await fetch(`${origin}/readyz`);
    if (response.status === status) return response.json();
    await response.body?.cancel();
  }
}

test("a gateway is ready while each route has a target, and says when one dies and returns", async () => {
  const [here, away] = await Promise.all([
    Behind.start({ who: () => "behind" }),
    Behind.start({ who: () => "behind" }),
  ]);
  const gateway = await startGateway({
    here: { url: here.url, healthCheck },
    away: { url: away.url, healthCheck },
  });
  const { origin } = gateway;
  expect(await readiness(origin, 200)).toEqual({
    status: "ready",
    upstreams: { here: "ok", away: "ok" },
  });
  await away.stop();
  expect(await readiness(origin, 503)).toEqual({
    status: "not ready",
    upstreams: { here: "ok", away: "no target answers" },
  });
  const address = away.url.replaceAll(".", "\\.");
  // A check may have been on its way when the connection ended.
  const why = "(cannot connect: .*ECONNREFUSED.*|.*ECONNRESET|the server closed the connection)";
  await gateway.shown(
    new RegExp(`^callwire: a target does not answer: away: ${address}: ${why}\n`, "m"),
    "stderr",
  );
  expect(gateway.stderr.split(away.url)).toHaveLength(2);
  await away.start();
  expect(await readiness(origin, 200)).toMatchObject({ status: "ready" });
  await gateway.shown(
    new RegExp(`^callwire: a target answers again: away: ${address}\n`, "m"),
    "stderr",
  );
  expect(gateway.stderr.trim().split("\n")).toHaveLength(2);
});

test("a gateway that starts before what is behind it is not ready, and calls it as soon as it is there", async () => {
  const behind = await Behind.start({ who: () => "behind" });
  await behind.stop();
  const gateway = await startGateway({ late: { url: behind.url } });
  expect(await readiness(gateway.origin, 503)).toMatchObject({
    upstreams: { late: "no target answers" },
  });
  await gateway.shown(
    /^callwire: a target does not answer: late: \S+: cannot connect: .*ECONNREFUSED.*\n/m,
    "stderr",
  );
  await behind.start();
  const client = createClient(httpLink(`${gateway.origin}/rpc`));
  expect(await client.call("late/who")).toBe("behind");
  expect(await readiness(gateway.origin, 200)).toMatchObject({ upstreams: { late: "ok" } });
});

test("a gateway whose log nobody reads any more goes on", async () => {
  const [here, away] = await Promise.all([
    Behind.start({ who: () => "here" }),
    Behind.start({ who: () => "away" }),
  ]);
  const gateway = await startGateway({
    here: { url: here.url, healthCheck },
    away: { url: away.url, healthCheck },
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
  const gateway = await startGateway({ one: { url: behind.url, healthCheck } }, "--metrics");
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
    `process.stderr.write("first\\nsec");
     setTimeout(() => process.stderr.write("ond\\n\\nno end"), 20);
     process.stdin.once("data", () => setTimeout(() => process.exit(3), 300));`,
  );
  const url = `stdio:"${process.execPath}" ${program} --token hidden`;
  const gateway = await startGateway({ tool: { url } });
  await gateway.shown(/^\[tool\] first\n\[tool\] second\n\[tool\] \n\[tool\] no end\n/m, "stderr");
  await gateway.shown(/^callwire: a target does not answer: tool: stdio:.*\n/m, "stderr");
  expect(gateway.stderr).not.toContain("hidden");
});
