/** Something the user can mend: told in one line, without a stack, and the exit code is 2. */
export class Failure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(oneLine(message), options);
    this.name = "Failure";
  }
}

/** What any thrown value has to say, in one line. */
export function oneLine(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
  return text.trim().replace(/\s*\n\s*/g, " ");
}
