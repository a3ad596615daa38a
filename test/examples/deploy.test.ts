import { execFile, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { root } from "../entries.ts";
import { describeWith, pathOf } from "../services.ts";

const run = promisify(execFile);
const folder = join(root, "examples/deploy");
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;

describeWith(["prometheus"], "examples/deploy", () => {
  test("the alert rules are valid", async () => {
    const promtool = join(dirname(pathOf("prometheus")), "promtool");
    const { stdout } = await run(promtool, ["check", "rules", join(folder, "alerts.yaml")]);
    expect(stdout).toContain("SUCCESS: 4 rules found");
  });
});

describe("examples/deploy", () => {
  // It also checks that the program exists, and node may be elsewhere.
  test.skipIf(!hasSystemd || !existsSync("/usr/bin/node"))(
    "the unit is valid (needs systemd-analyze and /usr/bin/node)",
    async () => {
      const { stderr } = await run("systemd-analyze", ["verify", join(folder, "callwire.service")]);
      expect(stderr).not.toContain("callwire.service");
    },
  );

  test("the image runs node itself, as a user that is not root", () => {
    const lines = readFileSync(join(folder, "Dockerfile"), "utf8").split("\n");
    expect(lines.filter((line) => line.startsWith("FROM "))).toHaveLength(2);
    expect(lines).toContain("USER node");
    expect(lines.find((line) => line.startsWith("CMD "))).toMatch(/^CMD \["node", /);
  });
});
