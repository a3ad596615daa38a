/** What a payload has too much of. */
type Excess = "bytes" | "requests";

/** Why a payload is refused as a whole. Such a reply has no id, so whoever called knows it by this sentence. */
export function overLimit(excess: Excess, most: number): string {
  return `a ${excess === "bytes" ? "message" : "batch"} holds at most ${most} ${excess}`;
}

const sentence = /^a (?:message|batch) holds at most (\d+) (bytes|requests)$/;

/** What the data of an error say of a limit, if that is what they are about. */
export function limitIn(data: unknown): { excess: Excess; most: number } | undefined {
  const [, most, excess] = sentence.exec(String(data)) ?? [];
  return most === undefined ? undefined : { excess: excess as Excess, most: Number(most) };
}
