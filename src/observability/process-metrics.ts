import { type Clock, systemClock, type Timer } from "../protocol/clock.ts";
import type { Family } from "./metric-family.ts";

interface OwnProcess {
  cpuUsage?(): { readonly user: number; readonly system: number };
  memoryUsage?(): { readonly rss: number; readonly heapUsed: number };
  uptime?(): number;
}

/** CPU time and memory of the process, by the names that Prometheus recommends; none in browsers. */
export function processFamilies(): Family[] {
  const { cpuUsage, memoryUsage } = (Reflect.get(globalThis, "process") ?? {}) as OwnProcess;
  const cpu = measured(cpuUsage);
  const memory = measured(memoryUsage);
  return [
    ...(cpu === undefined
      ? []
      : [
          family(
            "counter",
            "process_cpu_seconds",
            "CPU time in seconds.",
            (cpu.user + cpu.system) / 1e6,
          ),
        ]),
    ...(memory === undefined
      ? []
      : [
          family("gauge", "process_resident_memory_bytes", "Memory of the process.", memory.rss),
          family(
            "gauge",
            "nodejs_heap_size_used_bytes",
            "Memory of JavaScript objects.",
            memory.heapUsed,
          ),
        ]),
  ];
}

/** Some runtimes have the function, but throw. */
function measured<T>(measure: (() => T) | undefined): T | undefined {
  try {
    return measure?.();
  } catch {
    return undefined;
  }
}

function family(kind: "counter" | "gauge", name: string, help: string, value: number): Family {
  return { kind, name, help, series: [{ labels: {}, value }] };
}

const intervalMs = 500;

/** Measures how late timers run, which shows how long other work blocks the event loop. */
export class EventLoopLag {
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #worstMs = 0;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  start(): void {
    this.#timer ??= this.#wait();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** The longest delay since the last call, in seconds. */
  take(): number {
    const worst = this.#worstMs;
    this.#worstMs = 0;
    return worst / 1000;
  }

  #wait(): Timer {
    const due = this.#clock.elapsed() + intervalMs;
    return this.#clock.after(intervalMs, () => {
      this.#worstMs = Math.max(this.#worstMs, this.#clock.elapsed() - due);
      this.#timer = this.#wait();
    });
  }
}
