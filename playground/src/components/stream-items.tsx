import { useLayoutEffect, useRef } from "preact/hooks";
import type { Run } from "../state/calls.ts";
import { jsonText } from "../state/json-text.ts";
import { Scrollable } from "./scrollable.tsx";

/** Items of a stream as they arrive; pieces of text flow together as a text. */
export function StreamItems({ run }: { readonly run: Run }) {
  const box = useRef<HTMLElement>(null);
  const follows = useRef(true);
  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && follows.current) element.scrollTop = element.scrollHeight;
  }, [run.itemCount]);
  const { items, itemCount } = run;
  const isText = items.every((item) => typeof item === "string");
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
        ? items.join("")
        : items.map((item, i) => (
            <div class="line" key={first + i}>
              <span class="faint">{first + i + 1}</span>
              <code>{jsonText(item)}</code>
            </div>
          ))}
    </Scrollable>
  );
}
