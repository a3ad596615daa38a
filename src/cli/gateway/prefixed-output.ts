/** A line that does not end is passed on after so long, or when it has so many bytes. */
const patienceMs = 200;
const longestLine = 8_192;

/** Passes on what a program says line by line, with its name before each. What is no UTF-8 stays as it is. */
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
    else if (rest !== "") timer = setTimeout(passRest, patienceMs).unref();
  };
}
