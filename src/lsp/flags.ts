/** How an editor asks a language server to connect, and the process that the server must not outlive. */
export interface LspFlags {
  readonly wire:
    | { readonly kind: "stdio" }
    | { readonly kind: "ipc" }
    /** The editor listens on this port of the loopback address. */
    | { readonly kind: "socket"; readonly port: number }
    /** The editor listens on this unix socket or named pipe. */
    | { readonly kind: "pipe"; readonly path: string };
  /** The process of the editor. */
  readonly clientProcessId: number | undefined;
}

/**
 * Reads the flags that editors pass to language servers: `--stdio`, `--node-ipc`, `--socket=<port>`, `--pipe=<path>`
 * and `--clientProcessId=<id>`, also with a space instead of `=`. Without a wire it is stdio; flags of your own are
 * skipped.
 * @example
 * ```ts
 * import { lspFlags } from "callwire/lsp";
 *
 * const { wire } = lspFlags(process.argv.slice(2));
 * if (wire.kind === "socket") console.error(`the editor listens on port ${wire.port}`);
 * ```
 */
export function lspFlags(args: readonly string[]): LspFlags {
  let wire: LspFlags["wire"] | undefined;
  let clientProcessId: number | undefined;
  for (const [i, arg] of args.entries()) {
    const [, name = "", joined] = /^--([\w-]+)(?:=(.*))?$/s.exec(arg) ?? [];
    const value = joined ?? args[i + 1];
    const found = wireOf(name, value);
    if (
      found !== undefined &&
      wire !== undefined &&
      JSON.stringify(found) !== JSON.stringify(wire)
    ) {
      throw new TypeError(`--${name} names a second wire; pass only one of ${wires}`);
    }
    wire = found ?? wire;
    if (name === "clientProcessId") clientProcessId = whole(name, value, 2 ** 31);
  }
  return { wire: wire ?? { kind: "stdio" }, clientProcessId };
}

const wires = "--stdio, --node-ipc, --socket and --pipe";

function wireOf(name: string, value: string | undefined): LspFlags["wire"] | undefined {
  switch (name) {
    case "stdio":
      return { kind: "stdio" };
    case "node-ipc":
      return { kind: "ipc" };
    case "port":
    case "socket":
      return { kind: "socket", port: whole(name, value, 65_535) };
    case "pipe":
      if (value === undefined || value === "") throw new TypeError("--pipe needs a path");
      return { kind: "pipe", path: value };
    default:
      return undefined;
  }
}

function whole(name: string, value: string | undefined, most: number): number {
  const number = /^\d+$/.test(value ?? "") ? Number(value) : 0;
  if (number >= 1 && number <= most) return number;
  throw new TypeError(
    `--${name} must be an integer between 1 and ${most}, not ${JSON.stringify(value ?? "")}`,
  );
}
