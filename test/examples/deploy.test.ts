import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { root } from "../entries.ts";
import { describeWith, pathOf } from "../services.ts";

const run = promisify(execFile);
const folder = join(root, "examples/deploy");
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;

describeWith(["prometheus"], "the alert rules of examples/deploy", () => {
  const promtool = (...args: string[]) =>
    run(join(dirname(pathOf("prometheus")), "promtool"), args, { cwd: folder });

  test("are valid, and Prometheus loads them", async () => {
    const { stdout } = await promtool("check", "config", "prometheus.yaml");
    expect(stdout).toContain("SUCCESS: 4 rules found");
  });

  test("raise an alert for what they describe, and for nothing else", async () => {
    const calls = { method: "add", transport: "http" };
    const at = (name: string, labels: Record<string, string>, values: string) => ({
      series: `${name}{${Object.entries(labels).map(([key, value]) => `${key}="${value}"`)}}`,
      values,
    });
    const alarm = (alertname: string, severity: string, summary: string, labels = {}) => ({
      alertname,
      eval_time: "30m",
      exp_alerts: [{ exp_labels: { severity, ...labels }, exp_annotations: { summary } }],
    });
    const names = [
      "CallwireErrors",
      "CallwireSlow",
      "CallwireTargetDown",
      "CallwireEventLoopLag",
    ] as const;
    const quiet = names.map((alertname) => ({ alertname, eval_time: "30m", exp_alerts: [] }));
    const target = { upstream: "users", target: "one" };
    const tests = [
      {
        interval: "1m",
        input_series: [
          at("callwire_calls_total", calls, "0+100x30"),
          at("callwire_errors_total", { ...calls, code: "-32603" }, "0+6x30"),
          at("callwire_call_duration_seconds_bucket", { ...calls, le: "1" }, "0+90x30"),
          at("callwire_call_duration_seconds_bucket", { ...calls, le: "2.5" }, "0+100x30"),
          at("callwire_call_duration_seconds_bucket", { ...calls, le: "+Inf" }, "0+100x30"),
          at("callwire_target_up", target, "1+0x10 0+0x20"),
          at("callwire_event_loop_lag_seconds", {}, "0.3+0x30"),
        ],
        alert_rule_test: [
          alarm(names[0], "warning", "More than 5% of the calls of add fail", { method: "add" }),
          alarm(names[1], "warning", "1% of the calls take longer than a second"),
          alarm(names[2], "critical", "one of users does not answer", target),
          alarm(names[3], "warning", "A handler blocks the event loop"),
        ],
      },
      {
        interval: "1m",
        input_series: [
          at("callwire_calls_total", calls, "0+100x30"),
          at("callwire_errors_total", { ...calls, code: "-32603" }, "0+4x30"),
          at("callwire_call_duration_seconds_bucket", { ...calls, le: "1" }, "0+100x30"),
          at("callwire_call_duration_seconds_bucket", { ...calls, le: "+Inf" }, "0+100x30"),
          at("callwire_target_up", target, "0+0x5 1+0x25"),
          at("callwire_event_loop_lag_seconds", {}, "0.1+0x30"),
        ],
        alert_rule_test: quiet,
      },
    ];
    const file = join(mkdtempSync(join(tmpdir(), "callwire-rules-")), "test.yaml");
    onTestFinished(() => rmSync(dirname(file), { recursive: true }));
    const rule_files = [join(folder, "alerts.yaml")];
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ rule_files, evaluation_interval: "1m", tests }));
    const { stdout } = await promtool("test", "rules", file);
    expect(stdout).toContain("SUCCESS");
  });
});

describe("examples/deploy", () => {
  // It also checks that the program exists, and node may be in another folder.
  test.skipIf(!hasSystemd || !existsSync("/usr/bin/node"))(
    "the unit is valid (needs systemd-analyze and /usr/bin/node)",
    async () => {
      const { stderr } = await run("systemd-analyze", ["verify", join(folder, "callwire.service")]);
      expect(stderr).not.toContain("callwire.service");
    },
  );

  test("no service is started by npm, which does not pass on SIGTERM", () => {
    const files = ["callwire.service", "Dockerfile", "compose.yaml", "kubernetes.yaml"];
    for (const file of files) {
      const started = readFileSync(join(folder, file), "utf8")
        .split("\n")
        .filter((line) => /ExecStart|CMD|ENTRYPOINT|command:|args:/.test(line));
      expect(started.join("\n"), file).not.toMatch(/\bnp[mx]\b/);
    }
    const page = readFileSync(join(root, "docs/deploy.md"), "utf8");
    const commands = page.match(/```sh\n[^`]*```/g) ?? [];
    expect(commands.join("")).not.toMatch(/\bnpx\b/);
  });

  test("the image runs node itself, as a user that is not root", () => {
    const lines = readFileSync(join(folder, "Dockerfile"), "utf8").split("\n");
    expect(lines.filter((line) => line.startsWith("FROM "))).toHaveLength(2);
    expect(lines).toContain("USER node");
    expect(lines.find((line) => line.startsWith("CMD "))).toMatch(/^CMD \["node", /);
  });
});
