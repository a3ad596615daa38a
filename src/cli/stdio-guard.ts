import type { Host } from "callwire";
import { Failure } from "./failure.ts";

const stdio = { kind: "stdio", headers: {}, remoteAddress: undefined } as const;

/** Fails where the guards of a server would turn away whoever starts it, who would hear of it in no log. */
export async function checkStdioGuard(server: Host, module: string): Promise<void> {
  const verdict = await server.admit?.(stdio);
  if (verdict === undefined || !("code" in verdict)) return;
  const { message, reason } = verdict as { message: string; reason?: string };
  const why = reason === undefined ? message : `${message} (${reason})`;
  throw new Failure(
    `${module} refuses whoever starts it: ${why}; trustedProcess() of callwire/security, among what authenticate takes, lets them in`,
    { exitCode: 1 },
  );
}
