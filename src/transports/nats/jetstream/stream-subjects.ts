import type { JetStreamManager } from "./client-library.ts";

/** What a stream takes; undefined where there is no such stream. */
export async function subjectsOf(
  manager: JetStreamManager,
  stream: string,
): Promise<readonly string[] | undefined> {
  try {
    const { config } = await manager.streams.info(stream);
    return config.subjects ?? [];
  } catch (error) {
    if ((error as Error).name === "StreamNotFoundError") return undefined;
    throw error;
  }
}

/** Whether all that is sent below a prefix goes to a stream that takes these. */
export function isTaken(prefix: string, taken: readonly string[]): boolean {
  const words = prefix.split(".");
  return taken.some((filter) => {
    const parts = filter.split(".");
    const rest = parts.indexOf(">");
    if (rest === -1 || rest > words.length) return false;
    return parts.slice(0, rest).every((part, i) => part === "*" || part === words[i]);
  });
}
