/** What runtimes pass besides the request. */
interface RuntimeInfo {
  /** Of `Deno.serve`. */
  readonly remoteAddr?: { readonly hostname?: string };
  /** Of `Bun.serve`, which passes its server. */
  requestIP?(request: Request): { readonly address?: string } | null;
  /** The same, as some frameworks on Bun pass it on. */
  readonly server?: Pick<RuntimeInfo, "requestIP">;
  /** Of Hono on Node. */
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
}

/** The client's address, as far as the runtime gives it. */
export function runtimeAddress(
  request: Request,
  ...[given]: readonly unknown[]
): string | undefined {
  if (globalThis.navigator?.userAgent === "Cloudflare-Workers") {
    // Cloudflare sets this header itself. The second argument has the bindings of the program there.
    return request.headers.get("cf-connecting-ip") ?? undefined;
  }
  if (typeof given !== "object" || given === null) return undefined;
  const info = given as RuntimeInfo;
  const bun = info.server ?? info;
  return (
    info.remoteAddr?.hostname ??
    bun.requestIP?.(request)?.address ??
    info.incoming?.socket?.remoteAddress
  );
}
