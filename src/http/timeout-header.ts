/** How long the caller still waits, from the header `timeout-ms`; undefined when it says nothing sensible. */
export function timeoutOf(header: string | null | undefined): number | undefined {
  return header !== null && header !== undefined && /^\d{1,12}$/.test(header)
    ? Number(header)
    : undefined;
}
