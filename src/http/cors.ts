/** What lets the page of a listed origin read a reply. */
export function corsHeaders(origin: string): Record<string, string> {
  return { "access-control-allow-origin": origin, vary: "origin" };
}

/** The answer to the question that a browser asks before it sends a call. */
export function preflightHeaders(
  origin: string,
  requestedHeaders: string | undefined,
): Record<string, string> {
  return {
    ...corsHeaders(origin),
    "access-control-allow-methods": "POST, GET, DELETE",
    // The origin is trusted, so it may send what it likes; a list would only break custom credentials.
    ...(requestedHeaders === undefined
      ? undefined
      : { "access-control-allow-headers": requestedHeaders }),
    "access-control-max-age": "600",
  };
}
