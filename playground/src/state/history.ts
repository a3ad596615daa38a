import { effect, signal } from "@preact/signals";
import type { ParamsValue } from "../schema/params.ts";
import { isObject } from "../schema/resolve.ts";
import { store, stored, withoutSecrets } from "./storage.ts";

/** An earlier call, to be repeated; neither its result nor the credentials are kept. */
export interface Past {
  readonly at: number;
  readonly method: string;
  readonly params: ParamsValue;
  readonly kind: "call" | "stream" | "notification";
  readonly outcome: "running" | "done" | "failed" | "stopped";
  readonly durationMs: number;
}

const mostKept = 50;
/** Longer params are not kept, because browsers store only a few megabytes. */
const longestParams = 10_000;

export const past = signal<readonly Past[]>([]);

export function loadHistory(): void {
  const kept = stored("history");
  past.value = Array.isArray(kept) ? kept.filter(isPast).slice(0, mostKept) : [];
  effect(() => store("history", past.value));
}

export function remember(made: Omit<Past, "at">): void {
  const params = withoutSecrets(made.params) as ParamsValue;
  const text = JSON.stringify(params) ?? "";
  if (text.length > longestParams) return;
  const others = past.value.filter(
    (other) => other.method !== made.method || (JSON.stringify(other.params) ?? "") !== text,
  );
  past.value = [{ ...made, params, at: Date.now() }, ...others].slice(0, mostKept);
}

export function forgetHistory(): void {
  past.value = [];
}

function isPast(value: unknown): value is Past {
  return isObject(value) && typeof value.method === "string" && typeof value.at === "number";
}
