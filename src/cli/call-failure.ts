import { printable, RpcError, WireError } from "callwire";
import { type ExitCode, Failure, oneLine } from "./failure.ts";

/** What went wrong with a call, in one line, with the exit code that tells scripts the same. */
export function callFailure(what: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    const report = { code, message, ...(data === undefined ? undefined : { data }) };
    const text = `${what} answered ${errorText(error)}`;
    return new Failure(text, { cause: error, exitCode: 1, report });
  }
  // Several of the wires name the address themselves.
  const said = oneLine(error);
  const text = said.startsWith(what) ? said : `${what}: ${said}`;
  const report = error instanceof WireError ? { code: error.code } : {};
  return new Failure(text, { cause: error, exitCode: exitCodeOf(error), report });
}

/** The code, the message and the data of an error. */
export function errorText(error: {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}): string {
  const data = error.data === undefined ? "" : ` ${JSON.stringify(error.data)}`;
  return printable(`${error.code} ${error.message}${data}`);
}

function exitCodeOf(error: unknown): ExitCode {
  // Such as a header that cannot be sent: a mistake in the command.
  if (!(error instanceof WireError)) return 2;
  return error.code === "BAD_REPLY" || error.code === "HTTP_STATUS" ? 1 : 3;
}
