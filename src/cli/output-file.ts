import { constants } from "node:fs";
import { access, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Failure, oneLine } from "./failure.ts";

/** Rejects before the work is done where its result could not be written. */
export async function mustBeWritable(file: string): Promise<void> {
  const known = await stat(file).catch(() => undefined);
  if (known?.isDirectory()) throw new Failure(`${file} cannot be written: it is a folder`);
  try {
    await access(known === undefined ? dirname(file) : file, constants.W_OK);
  } catch (error) {
    const { code } = error as { code?: string };
    const why = code === "ENOENT" ? `there is no folder ${dirname(file)}` : oneLine(error);
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
