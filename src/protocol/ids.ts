let last = 0;

/** A fresh id; unique in this process, so that links can be shared and swapped freely. */
export function nextId(): number {
  // At a million a second, numbers are exact for another 285 years.
  return ++last;
}
