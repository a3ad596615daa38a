/** Checks the server against the specification. */
export function ConformancePanel() {
  return <p class="note empty">Nothing was checked yet.</p>;
}
