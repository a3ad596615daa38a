/** What an unused session or task costs. */
import { openSession } from "./candidates/mcp-request.mjs";

/**
 * Opened before the first measurement, so that all is compiled and every table has its first size.
 */
const before = 500;
const atOnce = 32;

/** Opens `count` sessions, or sends what `idle` says, and returns the heap that each of them holds. */
export async function memoryOfSessions({ port, path, idle }, look, count) {
  await open(before);
  const { heap: empty } = await look({ collect: true });
  await open(count);
  const { heap: full } = await look({ collect: true });
  return { count, bytes: (full - empty) / count };

  async function open(some) {
    let left = some;
    const openAll = async () => {
      while (left-- > 0) await (idle === undefined ? openSession(port, path) : send());
    };
    await Promise.all(Array.from({ length: atOnce }, openAll));
  }

  async function send() {
    const { text: body, headers } = idle;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      body,
      headers,
    });
    if (!(await response.text()).includes('"result"')) throw new Error("the server refused a task");
  }
}
