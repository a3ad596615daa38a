/** Without a running Prometheus; prometheus.full.test.ts has one. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { createServer, silentLog } from "callwire";
import { createMetrics } from "callwire/observability";
import { expect, test } from "vitest";
import dashboard from "../../docs/grafana-dashboard.json" with { type: "json" };
import { requestText } from "../server/asking.ts";
import { describeWith, pathOf } from "../services.ts";

test("every query of the dashboard is of metrics that there are", () => {
  const metrics = createMetrics();
  metrics.targets(() => []);
  const { body } = metrics.text();
  for (const { expr } of dashboard.panels.flatMap(({ targets }) => targets)) {
    for (const [name = ""] of expr.matchAll(/(callwire|process|nodejs)_\w+/g)) {
      expect(body).toMatch(new RegExp(`^# TYPE ${name.replace(/_bucket$/, "")} `, "m"));
    }
  }
});

describeWith(["prometheus"], "promtool", () => {
  test("finds no fault in the page", async () => {
    const metrics = createMetrics();
    const add = (a: number, b: number): number => a + b;
    const server = createServer({ add }, { use: [metrics.middleware], log: silentLog });
    await server.receive(requestText("add", [2, 3]));
    await server.receive(requestText("made/up"));
    const promtool = join(dirname(pathOf("prometheus")), "promtool");
    const checked = execFile(promtool, ["check", "metrics"]);
    let complaints = "";
    checked.stderr?.on("data", (text: string) => {
      complaints += text;
    });
    checked.stdin?.end(metrics.text().body);
    const [code] = (await once(checked, "close")) as [number];
    expect([code, complaints]).toEqual([0, ""]);
  });
});
