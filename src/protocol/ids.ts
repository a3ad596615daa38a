let last = 0;

/** A fresh id; unique in this process, so that links can be shared and swapped freely. */
export function nextId(): number {
  last = last === Number.MAX_SAFE_INTEGER ? 1 : last + 1;
  return last;
}
