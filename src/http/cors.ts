/** Lets a page of a listed origin read the reply. */
export function corsHeaders(origin: string): Record<string, string> {
  return { "access-control-allow-origin": origin, vary: "origin" };
}

/** The response to the preflight request of a browser. */
export function preflightHeaders(
  origin: string,
  requestedHeaders: string | undefined,
): Record<string, string> {
  return {
    ...corsHeaders(origin),
    "access-control-allow-methods": "POST, GET, DELETE",
    // The origin is trusted, and a fixed list would exclude headers with credentials of one's own.
    ...(requestedHeaders === undefined
      ? undefined
      : { "access-control-allow-headers": requestedHeaders }),
    "access-control-max-age": "600",
  };
}
