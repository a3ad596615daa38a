import { constants } from "node:fs";
import { access, readFile, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Failure, oneLine } from "./failure.ts";

/** For options that name a file. */
export function whyUnreadable(path: string, error: unknown): string {
  const { code } = error as { code?: string };
  return code === "ENOENT" ? `no such file: ${path}` : oneLine(error);
}

export async function fileText(path: string, missing = "no such file"): Promise<string> {
  try {
    // Some editors begin a file with a byte order mark.
    return (await readFile(path, "utf8")).replace(/^\uFEFF/, "");
  } catch (error) {
    const { code } = error as { code?: string };
    const why = code === "ENOENT" ? missing : oneLine(error);
    throw new Failure(`${path}: ${why}`, { cause: error });
  }
}

/** Rejects early if a file could not be written later. */
export async function checkWritable(file: string): Promise<void> {
  const known = await stat(file).catch(() => undefined);
  if (known?.isDirectory()) throw new Failure(`${file} cannot be written: it is a folder`);
  try {
    await access(known === undefined ? dirname(file) : file, constants.W_OK);
  } catch (error) {
    const { code } = error as { code?: string };
    const why = code === "ENOENT" ? `no such folder: ${dirname(file)}` : oneLine(error);
    throw new Failure(`${file} cannot be written: ${why}`, { cause: error });
  }
}

export async function writeOutput(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw new Failure(`${file} cannot be written: ${oneLine(error)}`, { cause: error });
  }
}
