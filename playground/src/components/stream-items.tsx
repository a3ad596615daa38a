import { useLayoutEffect, useRef } from "preact/hooks";
import type { Run } from "../state/calls.ts";
import { Scrollable } from "./scrollable.tsx";

/** Most characters of joined text, because its layout is computed again for each piece. */
const mostFlowing = 100_000;

/** Items of a stream as they arrive; strings are joined to one text. */
export function StreamItems({ run }: { readonly run: Run }) {
  const box = useRef<HTMLElement>(null);
  const follows = useRef(true);
  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && follows.current) element.scrollTop = element.scrollHeight;
  }, [run.itemCount]);
  const { items, itemCount } = run;
  const isText = items.every((item) => item.isText);
  const first = itemCount - items.length;
  return (
    <Scrollable
      class={isText ? "items flowing" : "items"}
      label="Items"
      box={box}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        follows.current = scrollHeight - scrollTop - clientHeight < 24;
      }}
    >
      {first > 0 ? (
        <p class="note">{first.toLocaleString("en")} earlier items are not shown</p>
      ) : null}
      {isText
        ? items
            .map(({ text }) => text)
            .join("")
            .slice(-mostFlowing)
        : items.map(({ text, isText }, i) => (
            <div class="line" key={first + i}>
              <span class="faint">{first + i + 1}</span>
              <code>{isText ? JSON.stringify(text) : text}</code>
            </div>
          ))}
    </Scrollable>
  );
}
