import { readFileSync } from "node:fs";

/**
 * How many bytes the system may keep for a TCP connection whose peer does not read, in one
 * direction.
 */
export const socketBytes = mostOf("tcp_wmem") + mostOf("tcp_rmem");

/** The last of three numbers: the least, the usual and the most bytes of a buffer. */
function mostOf(setting: string): number {
  try {
    const text = readFileSync(`/proc/sys/net/ipv4/${setting}`, "utf8");
    return Number(text.trim().split(/\s+/).at(-1));
  } catch {
    return 8 * 1024 * 1024;
  }
}
