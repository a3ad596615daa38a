/** What stands at the end of every mailbox's address, so that others know that it has a doorbell. */
const mark = ".cw";

/** The address of a mailbox; a reply subject is one more word behind it. */
export function marked(base: string): string {
  return base + mark;
}

/** Where whoever is there hears that it is asked for. */
export function doorbellOf(address: string): string {
  return `${address}.0`;
}

/** The address behind a reply subject, if it is a mailbox's. */
export function mailboxOf(reply: string): string | undefined {
  const address = reply.slice(0, reply.lastIndexOf("."));
  return address.endsWith(mark) ? address : undefined;
}
