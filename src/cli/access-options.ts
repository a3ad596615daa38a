import { Failure } from "./failure.ts";
import { ownNames } from "./own-addresses.ts";

/** Which names in the `Host` header are taken: its own, and those that are given. */
export function hostsOf(flag: string | undefined, host: string): readonly string[] | "any" {
  if (flag === undefined) return ownNames(host);
  if (flag === "any") return "any";
  const names = listOf(flag);
  const wrong = names.find((name) => !/^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i.test(name));
  if (names.length === 0 || wrong !== undefined) {
    throw new Failure(
      `--hosts is any, or names such as api.example,api.example:8080, not ${JSON.stringify(wrong ?? flag)}`,
    );
  }
  return [...ownNames(host), ...names];
}

/** Pages of which origins may call. */
export function originsOf(flag: string | undefined): readonly string[] {
  if (flag === undefined) return [];
  const origins = listOf(flag);
  const wrong = origins.find((origin) => !isOrigin(origin));
  if (origins.length === 0 || wrong !== undefined) {
    throw new Failure(
      `--origins is a list such as https://app.example,http://localhost:5173, not ${JSON.stringify(wrong ?? flag)}`,
    );
  }
  return origins;
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text.toLowerCase();
}

function listOf(flag: string): string[] {
  return flag
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
