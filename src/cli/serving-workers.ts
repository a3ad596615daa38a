import cluster from "node:cluster";
import { watch } from "node:fs";
import { dirname, sep } from "node:path";
import { createServer, type Log } from "callwire";
import { type Flags, flag, type Options, option } from "./command.ts";
import { portOf } from "./command-arguments.ts";
import { sayStopping } from "./draining.ts";
import { Failure, invalid, oneLine } from "./failure.ts";
import { ignoreOutputErrors, untilSignal } from "./process-end.ts";
import { type metricsOf, opened } from "./served-wires.ts";
import { Terminal } from "./terminal.ts";

export const workerOptions = {
  workers: option("number", "processes that answer, or auto for one per core", {
    env: "CALLWIRE_WORKERS",
    unless: ["stdio", "mcp"],
  }),
  watch: flag("restart when a file beside the module changes"),
} as const satisfies Options;

type WorkerFlags = Flags<typeof workerOptions> &
  Readonly<Record<"port" | "host" | "log", string | undefined>> & {
    readonly stdio: boolean | undefined;
  };

/** Whether this process only starts others, which answer the calls. */
export function startsWorkers({ workers, watch: watches, stdio }: WorkerFlags): boolean {
  if (workers === undefined && watches !== true) return false;
  if (stdio === true) throw new Failure("--workers and --watch do not work with --stdio");
  return cluster.isPrimary;
}

/** Whether this process is a worker. */
export function isWorker({ workers, watch: watches }: Partial<WorkerFlags>): boolean {
  return (workers !== undefined || watches === true) && !cluster.isPrimary;
}

/** The workers print one banner together. */
export function announces(flags: Partial<WorkerFlags>): boolean {
  return !isWorker(flags) || process.env.CALLWIRE_FIRST_WORKER === "1";
}

/** Runs workers until a signal. SIGHUP, and with --watch a changed file, replaces them one by one. */
export async function runWorkers(
  flags: WorkerFlags,
  file: string | undefined,
  log: Log,
  { pages }: Pick<Awaited<ReturnType<typeof metricsOf>>, "pages">,
): Promise<void> {
  const stopping = untilSignal();
  ignoreOutputErrors();
  // Never called: a placeholder for the service of the workers.
  const service = createServer({}, { log });
  const port = portOf("--port", flags.port ?? "8000");
  const { HttpWorkers } = await import("callwire/http/node");
  const workers = new HttpWorkers(service, {
    port,
    host: flags.host ?? "127.0.0.1",
    workers: countOf(flags.workers),
    mounts: pages,
  });
  const restart = (): void => {
    workers.restart().then(
      () => log.info({}, `restarted ${workers.pids.length} workers`),
      (error: unknown) => log.error({}, `${oneLine(error)}; kept the previous workers`),
    );
  };
  // Before the workers start: an unhandled SIGHUP would end the process, and a change must not be missed.
  process.on("SIGHUP", restart);
  if (flags.watch === true && file !== undefined) watchFolder(dirname(file), restart);
  try {
    await opened(`port ${port}`, "--port", () => workers.start());
  } catch (error) {
    const { exitCode } = (error as Failure).cause as { exitCode?: unknown };
    // That worker has printed the reason.
    if (exitCode === 2) process.exit(exitCode);
    throw error;
  }
  const signal = await stopping;
  const terminal = new Terminal(process.stdout);
  const isJson = flags.log === "json";
  sayStopping(signal, [], isJson, (line) => (isJson ? log.info({}, line) : terminal.line(line)));
  await workers.close();
  process.exit(0);
}

function countOf(text = "1"): number | "auto" {
  if (text === "auto") return text;
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw invalid("--workers", '"auto" or an integer of at least 1', text);
}

/** An editor writes a file in several steps. */
const settleMs = 100;

function watchFolder(folder: string, changed: () => void): void {
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(folder, { recursive: true }, (_, name) => {
    if (name?.split(sep).some((part) => part === "node_modules" || part.startsWith("."))) return;
    clearTimeout(timer);
    timer = setTimeout(changed, settleMs);
  });
  watcher.on("error", () => {});
}
