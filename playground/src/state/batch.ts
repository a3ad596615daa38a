import { computed, signal } from "@preact/signals";
import type { Params } from "callwire";
import type { ParamsValue } from "../schema/params.ts";
import { type Failure, failureOf } from "./calls.ts";
import * as draft from "./draft.ts";
import { selectedName } from "./methods.ts";
import { mostInBatch, noteLoss, session } from "./session.ts";

/** A call of a batch, and its outcome once the batch was sent. */
export interface Entry {
  readonly number: number;
  readonly method: string;
  readonly params: ParamsValue;
  readonly isNotification: boolean;
  readonly outcome?: { readonly result: unknown } | { readonly failure: Failure };
}

export const entries = signal<readonly Entry[]>([]);
export const isSending = signal(false);
export const isFull = computed(() => entries.value.length >= mostInBatch);

let last = 0;

export function add(isNotification = false): void {
  const method = selectedName.value;
  if (method === undefined || !("value" in draft.parsed.value) || isFull.value) return;
  const entry = { number: ++last, method, params: draft.paramsToSend(), isNotification };
  entries.value = [...entries.value.filter(isWaiting), entry];
}

export function remove(number: number): void {
  entries.value = entries.value.filter((entry) => entry.number !== number);
}

export function clearBatch(): void {
  entries.value = [];
}

/** Sends all of them as one payload; each gets its own reply. */
export async function send(): Promise<void> {
  const client = session.value?.gathering;
  if (client === undefined || isSending.value) return;
  isSending.value = true;
  entries.value = entries.value.map(({ outcome: _, ...entry }) => entry);
  await Promise.all(
    entries.value.map(async ({ number, method, params, isNotification }) => {
      try {
        const result = isNotification
          ? await client.notify(method, params as Params)
          : await client.call(method, params as Params);
        settle(number, { result });
      } catch (error) {
        settle(number, { failure: failureOf(error) });
        noteLoss(error);
      }
    }),
  );
  isSending.value = false;
}

function settle(number: number, outcome: NonNullable<Entry["outcome"]>): void {
  entries.value = entries.value.map((entry) =>
    entry.number === number ? { ...entry, outcome } : entry,
  );
}

/** Whether a call has not been sent; calls that have are removed when the next batch is begun. */
function isWaiting({ outcome }: Entry): boolean {
  return outcome === undefined;
}
