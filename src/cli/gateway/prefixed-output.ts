/** Flush an incomplete line after this time or size. */
const flushMs = 200;
const longestLine = 8_192;

/** Prefixes each line of a program with its name; keeps bytes that are not UTF-8. */
export function prefixedOutput(
  name: string,
  write: (bytes: Uint8Array) => unknown,
): (chunk: Uint8Array) => void {
  const mark = Buffer.from(`[${name}] `).toString("latin1");
  let rest = "";
  let timer: NodeJS.Timeout | undefined;
  const pass = (lines: readonly string[]): void => {
    const text = lines.map((line) => `${mark}${line}\n`).join("");
    if (text !== "") write(Buffer.from(text, "latin1"));
  };
  const passRest = (): void => {
    pass([rest]);
    rest = "";
  };
  return (chunk) => {
    clearTimeout(timer);
    const lines = (rest + Buffer.from(chunk).toString("latin1")).split("\n");
    rest = lines.pop() ?? "";
    pass(lines);
    if (rest.length > longestLine) passRest();
    else if (rest !== "") timer = setTimeout(passRest, flushMs).unref();
  };
}
