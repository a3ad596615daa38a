/** 1: error from the server. 2: wrong usage. 3: no connection. 130: Ctrl-C. 143: SIGTERM. */
export type ExitCode = 1 | 2 | 3 | 130 | 143;

/** A failure as JSON; a numeric code is from JSON-RPC, a string is from this program. */
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
  /** @default the code for the exit code, and the message */
  readonly report?: Partial<FailureReport>;
  /** Whether the JSON output is already written. @default false */
  readonly isReported?: boolean;
}

/** Something the user can fix: shown as one line, without a stack. The message may quote a server, unescaped. */
export class Failure extends Error {
  readonly exitCode: ExitCode;
  readonly report: FailureReport;
  readonly isReported: boolean;

  constructor(message: string, options: FailureOptions = {}) {
    super(masked(oneLine(message)), options);
    this.name = "Failure";
    this.exitCode = options.exitCode ?? 2;
    this.isReported = options.isReported ?? false;
    const code = this.exitCode === 3 ? wireCode(options.cause) : codes[this.exitCode];
    this.report = { code, message: this.message, ...options.report };
  }

  advised(advice: string): Failure {
    const { cause, exitCode, report } = this;
    // The message of a server stays unchanged in the report.
    const own = report.message === this.message ? { code: report.code } : report;
    return new Failure(this.message + advice, { cause, exitCode, report: own });
  }
}

/** The failure for a wrong value, such as that of an option. */
export function invalid(name: string, expected: string, value: unknown): Failure {
  return new Failure(`${name} must be ${expected}, not ${JSON.stringify(value)}`);
}

/** Node's codes for a connection that was never made. */
const neverConnected = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT)$/;

function wireCode(cause: unknown): string {
  for (let error = cause; error instanceof Error; error = error.cause) {
    const { code } = error as { code?: unknown };
    if (error.name === "WireError") return String(code);
    if (neverConnected.test(String(code))) return "CONNECTION_FAILED";
  }
  return codes[3];
}

export function oneLine(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message || thrown.name : textOf(thrown);
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "").join(" ");
}

/** JSON for a plain object, whose string would be "[object Object]". */
function textOf(thrown: unknown): string {
  try {
    const text = String(thrown);
    return text === "[object Object]" ? JSON.stringify(thrown) : text;
  } catch {
    return "an object that cannot be converted to a string";
  }
}

/**
 * Credentials in a URL, up to the last @ of the host, even if the password has an unescaped slash. After a port, an @
 * belongs to the path. Servers can send any string, so this must match in linear time.
 */
const login =
  /(?<![a-z\d])([a-z][a-z\d+.-]{0,31}:\/\/)(?:[^\s/]+|[^\s/:@]{0,256}:(?!\d+[/?#])\S{0,256})@/gi;

export function masked(text: string): string {
  return text.replace(login, "$1***@");
}
