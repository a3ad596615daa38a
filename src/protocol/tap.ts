/** Sees each message as it travels: one that this end sent, or one that it received. */
export type Tap = (text: string, direction: "sent" | "received") => void;

/** A tap that cannot harm: whoever watches must not stop what is watched. */
export function safeTap(tap: Tap): Tap {
  return (text, direction) => {
    try {
      tap(text, direction);
    } catch {
      // Nobody here can mend it.
    }
  };
}
