import { createWriteStream, openAsBlob } from "node:fs";
import { access } from "node:fs/promises";
import { basename, extname } from "node:path";
import { Writable } from "node:stream";
import { Failure, oneLine } from "./failure.ts";

/** Types whose params can be given as a file. */
export const byteTypes: readonly string[] = ["file", "blob", "stream", "bytes", "buffer"];

const mediaTypes: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".md": "text/markdown",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".wav": "audio/wav",
  ".webm": "video/webm",
  ".webp": "image/webp",
  ".zip": "application/zip",
};

/** A file as a param of this type. Files and streams are read while they are sent. */
export async function fileParam(path: string, type: string): Promise<unknown> {
  const mediaType = mediaTypes[extname(path).toLowerCase()] ?? "application/octet-stream";
  try {
    await access(path);
    const blob = await openAsBlob(path, { type: mediaType });
    if (type === "stream") return blob.stream();
    if (type === "buffer") return await blob.arrayBuffer();
    if (type === "bytes") return new Uint8Array(await blob.arrayBuffer());
    return new File([blob], basename(path), { type: mediaType });
  } catch (error) {
    const { code } = error as { code?: string };
    const why = code === "ENOENT" ? "no such file" : oneLine(error);
    throw new Failure(`${path}: ${why}`, { cause: error });
  }
}

/** Writes the bytes of a result to a file, or to standard output for "-". */
export async function writeBytes(result: unknown, path: string): Promise<void> {
  const [bytes, another] = bytesIn(result);
  if (bytes === undefined) {
    throw new Failure("the result has no bytes to write; call without --output to see it");
  }
  if (another !== undefined) {
    throw new Failure("the result has several files; --output writes only one");
  }
  const stream = bytes instanceof ReadableStream ? bytes : new Blob([bytes]).stream();
  const to = path === "-" ? process.stdout : createWriteStream(path);
  try {
    await stream.pipeTo(Writable.toWeb(to), { preventClose: path === "-" });
  } catch (error) {
    throw new Failure(`${path} cannot be written: ${oneLine(error)}`, { cause: error });
  }
}

type Bytes = Blob | Uint8Array<ArrayBuffer> | ArrayBuffer | ReadableStream<Uint8Array>;

/** The files, byte arrays and streams in a result. */
export function bytesIn(value: unknown): Bytes[] {
  if (typeof value !== "object" || value === null) return [];
  const isBytes =
    value instanceof Blob ||
    value instanceof Uint8Array ||
    value instanceof ArrayBuffer ||
    value instanceof ReadableStream;
  if (isBytes) return [value as Bytes];
  const isKeyed = value instanceof Map || value instanceof Set;
  return (isKeyed ? [...value].flat() : Object.values(value)).flatMap(bytesIn);
}
