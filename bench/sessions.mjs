/** What a session costs that nobody uses. */
import { openSession } from "./candidates/mcp-request.mjs";

/** Opened before the first look, so that all is compiled and every table has its first size. */
const before = 500;
const atOnce = 32;

/** Opens `count` sessions, leaves them alone, and gives the heap that each of them holds. */
export async function memoryOfSessions({ port, path }, look, count) {
  await open(before);
  const { heap: empty } = await look({ collect: true });
  await open(count);
  const { heap: full } = await look({ collect: true });
  return { count, bytes: (full - empty) / count };

  async function open(some) {
    let left = some;
    const openAll = async () => {
      while (left-- > 0) await openSession(port, path);
    };
    await Promise.all(Array.from({ length: atOnce }, openAll));
  }
}
