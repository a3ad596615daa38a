/**
 * Behind a scheme: all up to the last @ of the host, and also where the password holds a slash that it may not hold;
 * what a colon and digits come before is a port, and the @ then one of the path. A server can have any text shown, so
 * it is found in a time that grows no faster than the text.
 */
const login =
  /(?<![a-z\d])([a-z][a-z\d+.-]{0,31}:\/\/)(?:[^\s/]+|[^\s/:@]{0,256}:(?!\d+[/?#])\S{0,256})@/gi;

/** A text in which the addresses do not show who logs in, nor with which password or token. */
export function masked(text: string): string {
  return text.replace(login, "$1***@");
}
