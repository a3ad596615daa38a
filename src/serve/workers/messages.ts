/** Messages between the primary and a worker; the member `callwire` distinguishes them from those of the program. */
export type WorkerMessage =
  | { readonly callwire: "ready"; readonly port: number }
  /** A worker asks for the snapshots of all workers. */
  | { readonly callwire: "gather"; readonly path: string; readonly id: number }
  | {
      readonly callwire: "snapshot";
      readonly path: string;
      readonly id: number;
      readonly value: unknown;
    }
  /** The last snapshots of a worker that ends. */
  | { readonly callwire: "last"; readonly pages: Readonly<Record<string, unknown>> };

export type PrimaryMessage =
  | { readonly callwire: "stop"; readonly drainMs: number }
  | { readonly callwire: "snapshot"; readonly path: string; readonly id: number }
  | { readonly callwire: "gathered"; readonly id: number; readonly values: readonly unknown[] };

/** The environment variable with the port of a worker. */
export const portVariable = "CALLWIRE_WORKER_PORT";

export function isOurs(message: unknown): message is { readonly callwire: string } {
  return typeof message === "object" && message !== null && "callwire" in message;
}
