/** A text in which the addresses do not show who logs in, nor with which password or token. */
export function masked(text: string): string {
  // From where a scheme begins, or a long word would be looked at again from each of its letters.
  return text.replace(/(?<![a-z+])([a-z+]+:\/\/)[^\s/"']+@/gi, "$1***@");
}
