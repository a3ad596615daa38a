/** 1: the server answered an error. 2: the command was not understood. 3: no connection. 130: Ctrl-C. */
export type ExitCode = 1 | 2 | 3 | 130;

/** Something the user can mend: told in one line, without a stack. */
export class Failure extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, options: ErrorOptions & { exitCode?: ExitCode } = {}) {
    super(oneLine(message), options);
    this.name = "Failure";
    this.exitCode = options.exitCode ?? 2;
  }
}

/** What any thrown value has to say, in one line. */
export function oneLine(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
  return text.trim().replace(/\s*\n\s*/g, " ");
}
