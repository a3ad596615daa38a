import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import dashboard from "../../docs/grafana-dashboard.json" with { type: "json" };
import { build, type Process, startDemo } from "../cli/process.ts";
import { ownPort } from "../own-port.ts";
import { describeWith, pathOf } from "../services.ts";

type Value = [seconds: number, value: string];

describeWith(["prometheus"], "Prometheus scrapes the demo", () => {
  let folder: string;
  let demo: Process & { readonly origin: string };
  let prometheus: ChildProcess;
  let api: string;

  beforeAll(async () => {
    await build();
    folder = await mkdtemp(join(tmpdir(), "callwire-prometheus-"));
    demo = await startDemo();
    const port = await ownPort();
    api = `http://127.0.0.1:${port}`;
    const config = {
      global: { scrape_interval: "500ms", scrape_timeout: "500ms" },
      scrape_configs: [
        { job_name: "demo", static_configs: [{ targets: [new URL(demo.origin).host] }] },
      ],
    };
    const file = join(folder, "prometheus.yml");
    // JSON is YAML.
    await writeFile(file, JSON.stringify(config));
    prometheus = spawn(
      pathOf("prometheus"),
      [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(folder, "data")}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: "ignore" },
    );
    await vi.waitUntil(isReady, { timeout: 30_000, interval: 50 });
  }, 90_000);

  afterAll(async () => {
    if (prometheus?.exitCode === null) {
      prometheus.kill("SIGTERM");
      await once(prometheus, "exit");
    }
    await demo?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  async function isReady(): Promise<boolean> {
    const response = await fetch(`${api}/-/ready`).catch(() => undefined);
    return response?.ok === true;
  }

  async function query<Result>(text: string, time?: number): Promise<Result[]> {
    const params = new URLSearchParams({ query: text });
    if (time !== undefined) params.set("time", `${time}`);
    const response = await fetch(`${api}/api/v1/query?${params}`);
    const { data } = (await response.json()) as { data: { result: Result[] } };
    return data.result;
  }

  async function numberOf(text: string, time?: number): Promise<number | undefined> {
    const [first] = await query<{ value: Value }>(text, time);
    return first === undefined ? undefined : Number(first.value[1]);
  }

  test("under load its counts and rates agree with what was sent", async () => {
    const client = createClient(httpLink(`${demo.origin}/rpc`));
    const series = 'callwire_calls_total{method="add",transport="http"}';
    let begun = 0;
    let ended = 0;
    let failed = 0;
    let loading = true;
    /** How many calls can have been counted at which time: at least `ended`, at most `begun`. */
    const sent: { at: number; begun: number; ended: number }[] = [];
    const note = (): void => void sent.push({ at: Date.now() / 1000, begun, ended });
    const worker = async (): Promise<void> => {
      while (loading) {
        begun++;
        note();
        if (begun % 10 === 0) {
          failed++;
          await client.call("add", ["no", "number"]).catch(() => {});
        } else await client.call("add", [2, 3]);
        ended++;
        note();
      }
    };
    const workers = Array.from({ length: 4 }, worker);
    const raw = async (): Promise<Value[]> =>
      (await query<{ values: Value[] }>(`${series}[5m]`))[0]?.values ?? [];
    await expect
      .poll(async () => (await raw()).length, { timeout: 60_000, interval: 100 })
      .toBeGreaterThan(5);
    loading = false;
    await Promise.all(workers);
    await client.close();
    // After a scrape that took too long there is no value, until the next one.
    const counted = (text: string) =>
      expect.poll(() => numberOf(text), { timeout: 30_000, interval: 100 });
    await counted(series).toBe(ended);
    await counted('callwire_errors_total{method="add",code="-32602"}').toBe(failed);
    await counted('callwire_call_duration_seconds_count{method="add"}').toBe(ended);

    // Each scrape lies between what had been answered when it began and what had been sent when it ended.
    const samples = await raw();
    for (const [at, text] of samples) {
      // Prometheus may shift the time of a scrape by two milliseconds, so that intervals are equal.
      const before = sent.findLast((mark) => mark.at <= at - 0.002);
      const after = sent.find((mark) => mark.at > at + 0.502);
      expect(Number(text)).toBeGreaterThanOrEqual(before?.ended ?? 0);
      expect(Number(text)).toBeLessThanOrEqual(after?.begun ?? begun);
    }
    // The rate is that of the samples; Prometheus extrapolates it to the ends of the window.
    const during = samples.filter(([at]) => at <= (sent.at(-1)?.at ?? 0));
    const [first, last] = [during[0], during.at(-1)] as [Value, Value];
    const seconds = Math.ceil(last[0] - first[0]) + 1;
    const within = during.filter(([at]) => at > last[0] - seconds);
    const [start] = within as [Value];
    const own = (Number(last[1]) - Number(start[1])) / (last[0] - start[0]);
    const rate = (await numberOf(`rate(${series}[${seconds}s])`, last[0])) as number;
    const window = (last[0] - start[0]) / seconds;
    expect(rate).toBeLessThanOrEqual(own * 1.001);
    expect(rate).toBeGreaterThanOrEqual(own * window * 0.999);
    expect(own).toBeGreaterThan(0);
  }, 120_000);

  test("every query of the dashboard is one that it answers", async () => {
    for (const { title, targets } of dashboard.panels) {
      for (const { expr } of targets) {
        const filled = expr.replaceAll("$__rate_interval", "10s").replaceAll("$job", ".*");
        const answer = await fetch(`${api}/api/v1/query?${new URLSearchParams({ query: filled })}`);
        expect(await answer.json(), `${title}: ${expr}`).toMatchObject({ status: "success" });
      }
    }
    await using client = createClient(httpLink(`${demo.origin}/rpc`));
    await client.call("add", [2, 3]);
    const rates = () => query("sum by (method) (rate(callwire_calls_total[5m]))");
    await expect.poll(async () => (await rates()).length).toBeGreaterThan(0);
  }, 60_000);

  test("its linter finds no fault", async () => {
    const targets = async () => {
      const response = await fetch(`${api}/api/v1/targets`);
      const { data } = (await response.json()) as {
        data: { activeTargets: { health: string; lastError: string }[] };
      };
      return data.activeTargets;
    };
    // A wrong page is wrong each time; a scrape that took too long is followed by another.
    await expect.poll(targets).toMatchObject([{ health: "up", lastError: "" }]);
  }, 60_000);
});
