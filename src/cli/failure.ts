/** 1: the server answered an error. 2: the command was not understood. 3: no connection. 130: Ctrl-C. 143: SIGTERM. */
export type ExitCode = 1 | 2 | 3 | 130 | 143;

/** What scripts read of a failure: a number is a code of JSON-RPC, a word one of this program. */
export interface FailureReport {
  readonly code: number | string;
  readonly message: string;
  readonly data?: unknown;
}

const codes: Readonly<Record<ExitCode, string>> = {
  1: "FAILED",
  2: "USAGE",
  3: "NO_ANSWER",
  130: "CANCELLED",
  143: "CANCELLED",
};

export interface FailureOptions extends ErrorOptions {
  /** @default 2 */
  readonly exitCode?: ExitCode;
  /** @default a word for the exit code, and the message */
  readonly report?: Partial<FailureReport>;
  /** What scripts read was shown already. @default false */
  readonly isTold?: boolean;
}

/** Something the user can mend: told in one line, without a stack. It may hold what a server said, as it said it. */
export class Failure extends Error {
  readonly exitCode: ExitCode;
  readonly report: FailureReport;
  readonly isTold: boolean;

  constructor(message: string, options: FailureOptions = {}) {
    super(masked(oneLine(message)), options);
    this.name = "Failure";
    this.exitCode = options.exitCode ?? 2;
    this.isTold = options.isTold ?? false;
    const code = this.exitCode === 3 ? wireCode(options.cause) : codes[this.exitCode];
    this.report = { code, message: this.message, ...options.report };
  }

  /** The same with advice at its end. */
  advised(advice: string): Failure {
    const { cause, exitCode, report } = this;
    // What the server said stays as it said it.
    const own = report.message === this.message ? { code: report.code } : report;
    return new Failure(this.message + advice, { cause, exitCode, report: own });
  }
}

/** Nobody was there, whichever of Node's ways in says so. */
const neverConnected = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT)$/;

/** Why there was no answer, as the wire that failed has it. */
function wireCode(cause: unknown): string {
  for (let error = cause; error instanceof Error; error = error.cause) {
    const { code } = error as { code?: unknown };
    if (error.name === "WireError") return String(code);
    if (neverConnected.test(String(code))) return "CONNECTION_FAILED";
  }
  return codes[3];
}

/** What any thrown value has to say, in one line. */
export function oneLine(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message || thrown.name : textOf(thrown);
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "").join(" ");
}

/** Of an object without words of its own, what it holds: "[object Object]" says nothing. */
function textOf(thrown: unknown): string {
  try {
    const text = String(thrown);
    return text === "[object Object]" ? JSON.stringify(thrown) : text;
  } catch {
    return "an object that cannot be shown";
  }
}

/**
 * Behind a scheme: all up to the last @ of the host, and also where the password holds a slash that it may not hold;
 * what a colon and digits come before is a port, and the @ then one of the path. A server can have any text shown, so
 * it is found in a time that grows no faster than the text.
 */
const login =
  /(?<![a-z\d])([a-z][a-z\d+.-]{0,31}:\/\/)(?:[^\s/]+|[^\s/:@]{0,256}:(?!\d+[/?#])\S{0,256})@/gi;

/** A text in which the addresses do not show who logs in, nor with which password or token. */
export function masked(text: string): string {
  return text.replace(login, "$1***@");
}
