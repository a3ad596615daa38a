/** One line on standard error that says what is being measured. */

let shown = false;

export function showProgress(text) {
  if (!process.stderr.isTTY) return;
  process.stderr.write(`\r\x1b[K${text}`);
  shown = true;
}

export function clearProgress() {
  if (shown) process.stderr.write("\r\x1b[K");
  shown = false;
}
