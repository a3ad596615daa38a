import { isObject } from "../schema/resolve.ts";

/** The chosen files, by the JSON that stands for them in the params. */
const held = new Map<string, { readonly file: File; readonly type: string }>();

/** What stands for a chosen file in the params: a description, as in messages, or its bytes as base64. */
export async function hold(file: File, type: string): Promise<unknown> {
  if (type === "bytes" || type === "buffer") return base64(file);
  const { name, size, lastModified } = file;
  const part = held.size + 1;
  const json =
    type === "stream" ? { name, part } : { name, type: file.type, size, lastModified, part };
  held.set(JSON.stringify(json), { file, type });
  return json;
}

export function isHeld(json: unknown): boolean {
  return held.has(JSON.stringify(json));
}

/** The params with the files themselves. */
export function withFiles(params: unknown): unknown {
  if (Array.isArray(params)) return params.map(withFiles);
  if (!isObject(params)) return params;
  const { file, type } = held.get(JSON.stringify(params)) ?? {};
  if (file !== undefined) return type === "stream" ? file.stream() : file;
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, withFiles(value)]),
  );
}

async function base64(file: File): Promise<string> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
  return url.slice(url.indexOf(",") + 1);
}

type Bytes = Blob | Uint8Array<ArrayBuffer> | ArrayBuffer | ReadableStream<Uint8Array>;

/** Bytes in a result, which can be saved. */
export interface ReceivedFile {
  readonly name: string;
  /** Unknown for a stream. */
  readonly size: number | undefined;
  readonly bytes: Bytes;
}

/** Files further inside a result are not listed, so that a hostile one cannot exhaust the stack. */
const deepest = 64;

export function filesIn(value: unknown, name = "result", depth = 0): ReceivedFile[] {
  if (value instanceof File) return [{ name: value.name || name, size: value.size, bytes: value }];
  if (value instanceof Blob) return [{ name, size: value.size, bytes: value }];
  if (value instanceof ReadableStream) return [{ name, size: undefined, bytes: value }];
  if (value instanceof Uint8Array || value instanceof ArrayBuffer) {
    return [{ name, size: value.byteLength, bytes: value as Bytes }];
  }
  if (value instanceof Map || value instanceof Set) {
    return [...value].flat().flatMap((member) => filesIn(member, name, depth + 1));
  }
  if (typeof value !== "object" || value === null || depth > deepest) return [];
  return Object.entries(value).flatMap(([key, member]) => filesIn(member, key, depth + 1));
}

/** Saves it as the browser saves downloads. A stream can be saved once. */
export async function save({ name, bytes }: ReceivedFile): Promise<void> {
  const isStream = bytes instanceof ReadableStream;
  const blob = isStream ? await new Response(bytes).blob() : new Blob([bytes]);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Stops streams that were not saved. */
export function drop(files: readonly ReceivedFile[]): void {
  for (const { bytes } of files) {
    if (bytes instanceof ReadableStream && !bytes.locked) bytes.cancel().catch(() => {});
  }
}
