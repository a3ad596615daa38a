/** The same text with memory of its own: a name that is kept may hold on to the whole message that it is a part of. */
export function ownCopy(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
