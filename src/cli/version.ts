import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const file = fileURLToPath(import.meta.resolve("callwire/package.json"));

export const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
