import { signal } from "@preact/signals";
import {
  type ConformanceFixtures,
  type ConformanceReport,
  type ConformanceResult,
  type ConformanceWire,
  demoFixtures,
  fetchConformanceWire,
  planConformance,
  runConformance,
  webSocketConformanceWire,
} from "callwire/testing";
import { endpoint, headers, transport } from "./settings.ts";

/** The state of a run, while the cases run and afterwards. */
export interface Progress {
  readonly wire: string;
  readonly results: readonly ConformanceResult[];
  readonly total: number;
  readonly report?: ConformanceReport;
  /** Why nothing could be checked. */
  readonly problem?: string;
}

export const progress = signal<Progress | undefined>(undefined);
export const isChecking = signal(false);
/** Methods of the server that some cases call. */
export const fixtures = signal<ConformanceFixtures>(demoFixtures);

let stopping: AbortController | undefined;

/** Most messages that a run sends. */
export function mostMessages(): number {
  return planConformance(wireNow()).mostMessages;
}

/** Runs the kit of `callwire conform` against the server, over the wire that is chosen. */
export async function check(): Promise<void> {
  if (isChecking.value) return;
  const wire = wireNow();
  const controller = new AbortController();
  stopping = controller;
  isChecking.value = true;
  const results: ConformanceResult[] = [];
  const show = (more: Partial<Progress>, total = results.length): void => {
    progress.value = { wire: wire.name, results: [...results], total, ...more };
  };
  show({});
  try {
    const report = await runConformance(wire, {
      fixtures: fixtures.value,
      signal: controller.signal,
      onResult: (result, _, total) => {
        results.push(result);
        show({}, total);
      },
    });
    show({ report });
  } catch (error) {
    show({ problem: error instanceof Error ? error.message : String(error) });
  } finally {
    isChecking.value = false;
  }
}

export function stopChecking(): void {
  stopping?.abort();
}

/** Server-sent events are HTTP too, and are checked as such. */
function wireNow(): ConformanceWire {
  const url = new URL(endpoint.value, location.href);
  if (transport.value !== "websocket") {
    return fetchConformanceWire(url.href, { headers: headers.value.given });
  }
  url.protocol = url.protocol.replace("http", "ws");
  return webSocketConformanceWire(url.href);
}
