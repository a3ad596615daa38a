import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { generated } from "../../scripts/generate-lsp.mjs";
import { readModel } from "../../scripts/lsp-model.mjs";
import { root } from "../entries.ts";
import { describeWith } from "../services.ts";

describeWith(["npm peers"], "the model of LSP 3.18", () => {
  let files: Map<string, string>;

  beforeAll(async () => {
    files = await generated();
  });

  test("src/lsp/model is what scripts/generate-lsp.mjs writes", () => {
    const folder = join(root, "src/lsp/model");
    expect(readdirSync(folder).sort()).toEqual([...files.keys()].sort());
    for (const [name, text] of files) {
      expect(readFileSync(join(folder, name), "utf8") === text, name).toBe(true);
    }
  });

  test("has every message of the published meta model", async () => {
    const { messages } = await readModel();
    const count = (isRequest: boolean, direction: string) =>
      messages.filter((each) => each.isRequest === isRequest && each.direction === direction)
        .length;
    expect(count(true, "clientToServer")).toBe(54);
    expect(count(true, "serverToClient")).toBe(15);
    expect(messages.filter(({ isRequest }) => !isRequest)).toHaveLength(26);
  });
});
