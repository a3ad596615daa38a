/** Observes each message that is sent or received. */
export type Tap = (text: string, direction: "sent" | "received") => void;

/** Swallows what a tap throws: observing must not break the connection. */
export function safeTap(tap: Tap): Tap {
  return (text, direction) => {
    try {
      tap(text, direction);
    } catch {
      // A broken observer must not stop the messages.
    }
  };
}
