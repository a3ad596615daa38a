export const lineFeed = 10;
export const carriageReturn = 13;

/** Appends to `starts` where lines start that follow a line break in `text` between two offsets. */
function addStarts(starts: number[], text: string, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code !== lineFeed && code !== carriageReturn) continue;
    if (code === carriageReturn && text.charCodeAt(at + 1) === lineFeed) at++;
    starts.push(at + 1);
  }
}

/** The offsets at which lines start; there is always at least one. Lines end with `\n`, `\r\n` or `\r`. */
export function lineStarts(text: string): number[] {
  const starts = [0];
  addStarts(starts, text, 0, text.length);
  return starts;
}

/**
 * The same after an edit. Only the lines around the edit are read, from the line before it: a `\n` that is inserted
 * after a `\r` joins it.
 */
export function editedLineStarts(
  before: readonly number[],
  after: string,
  edit: { readonly firstLine: number; readonly lastLine: number; readonly growth: number },
): number[] {
  const kept = Math.max(0, edit.firstLine - 1);
  const starts = before.slice(0, kept + 1);
  const next = before[edit.lastLine + 1];
  const end = next === undefined ? after.length : next + edit.growth;
  addStarts(starts, after, before[kept] as number, end);
  for (let line = edit.lastLine + 2; line < before.length; line++) {
    starts.push((before[line] as number) + edit.growth);
  }
  return starts;
}
