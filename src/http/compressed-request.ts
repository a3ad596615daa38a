/** Compresses the body of a request; undefined where the runtime cannot. Only links that compress load this file. */
export async function gzipped(text: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (typeof CompressionStream === "undefined") return undefined;
  const { body } = new Response(text);
  const compressed = body?.pipeThrough(new CompressionStream("gzip")) ?? null;
  return new Uint8Array(await new Response(compressed).arrayBuffer());
}
