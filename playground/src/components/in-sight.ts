import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** Scrolls an element into view when something about it changes, but not when the page opens. */
export function useInSight<T extends Element>(what: string): RefObject<T | null> {
  const element = useRef<T>(null);
  const before = useRef(what);
  useEffect(() => {
    if (before.current !== what) element.current?.scrollIntoView({ block: "nearest" });
    before.current = what;
  }, [what]);
  return element;
}
