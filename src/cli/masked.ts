/** A text in which the addresses do not show who logs in, nor with which password or token. */
export function masked(text: string): string {
  return text.replace(/\b([a-z][a-z+]*:\/\/)[^\s/"']+@/gi, "$1***@");
}
