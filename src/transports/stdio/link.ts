import { reconnecting } from "../../connection/reconnect.ts";
import type { ReconnectOptions } from "../../connection/reconnect-options.ts";
import type { Link } from "../../protocol/link.ts";
import { type ProcessOptions, spawnConnection } from "./connect.ts";

export interface StdioLinkOptions extends ProcessOptions {
  /** Whether a child that exited is restarted, and how many times. @default true */
  readonly reconnect?: ReconnectOptions | boolean | undefined;
}

/**
 * Calls a program over its standard input and output: `stdioLink("python3", ["server.py"])`. The first call starts
 * it, without a shell; it ends with the link.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { stdioLink } from "callwire/stdio";
 *
 * const client = createClient(stdioLink("python3", ["server.py"]));
 * console.log(await client.call("math/add", { a: 2, b: 3 }));
 * await client.close(); // ends the program too
 * ```
 */
export function stdioLink(
  command: string,
  args: readonly string[] = [],
  options: StdioLinkOptions = {},
): Link {
  return reconnecting(() => spawnConnection(command, args, options), options.reconnect);
}
