/** The revision of a write that depends on what stood there; undefined when another was first. */
export async function revisionOf(write: Promise<number>): Promise<number | undefined> {
  try {
    return await write;
  } catch (error) {
    if (/wrong last sequence/i.test((error as Error).message)) return undefined;
    throw error;
  }
}
