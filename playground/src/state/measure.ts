import { computed, signal } from "@preact/signals";
import type { Params } from "callwire";
import * as draft from "./draft.ts";
import { selectedName } from "./methods.ts";
import { noteLoss, session } from "./session.ts";

export interface Sample {
  /** When the reply came, on the clock of the page. */
  readonly at: number;
  readonly ms: number;
  readonly ok: boolean;
}

export interface Summary {
  readonly count: number;
  readonly failed: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  readonly maxMs: number;
  /** Replies per second between the first and the last. */
  readonly rate: number | undefined;
}

/** Samples that are kept for a method. */
const mostSamples = 1_000;

const samples = new Map<string, Sample[]>();
const changes = signal(0);
let waiting = false;

export const repeating = signal<{ readonly done: number; readonly of: number } | undefined>(
  undefined,
);
let stopping: AbortController | undefined;

export const ownSamples = computed((): readonly Sample[] => {
  changes.value;
  return [...(samples.get(selectedName.value ?? "") ?? [])];
});

export const summary = computed((): Summary | undefined => summaryOf(ownSamples.value));

export function measured(method: string, ms: number, ok: boolean): void {
  const list = samples.get(method) ?? [];
  samples.set(method, list);
  list.push({ at: performance.now(), ms, ok });
  if (list.length > mostSamples) list.splice(0, list.length - mostSamples);
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    changes.value++;
  });
}

export function forgetSamples(): void {
  samples.delete(selectedName.value ?? "");
  changes.value++;
}

/** Repeats the current call, with a given number of calls at a time. */
export async function repeat(times: number, atOnce: number): Promise<void> {
  const method = selectedName.value;
  const client = session.value?.client;
  if (method === undefined || client === undefined || repeating.value !== undefined) return;
  const params = draft.paramsToSend() as Params;
  const controller = new AbortController();
  stopping = controller;
  let begun = 0;
  let done = 0;
  repeating.value = { done, of: times };
  const worker = async (): Promise<void> => {
    while (begun < times && !controller.signal.aborted) {
      begun++;
      const started = performance.now();
      try {
        await client.call(method, params, { signal: controller.signal });
        measured(method, performance.now() - started, true);
      } catch (error) {
        if (controller.signal.aborted) return;
        measured(method, performance.now() - started, false);
        noteLoss(error);
      }
      done++;
      if (done % 10 === 0 || done === times) repeating.value = { done, of: times };
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, times) }, worker));
  repeating.value = undefined;
}

export function stopRepeating(): void {
  stopping?.abort();
}

function summaryOf(list: readonly Sample[]): Summary | undefined {
  const [first] = list;
  const last = list.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const sorted = list.map(({ ms }) => ms).sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
  const seconds = (last.at - first.at) / 1000;
  return {
    count: list.length,
    failed: list.filter(({ ok }) => !ok).length,
    medianMs: at(0.5),
    p95Ms: at(0.95),
    maxMs: at(1),
    rate: seconds > 0 ? (list.length - 1) / seconds : undefined,
  };
}
