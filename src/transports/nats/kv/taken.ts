/** True when a write that depends on what stood there was made; false when another was first. */
export async function isTaken(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (/wrong last sequence/i.test((error as Error).message)) return false;
    throw error;
  }
}
