import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Kind } from "../state/classify.ts";
import { transportLabels } from "../state/settings.ts";
import { revision, selected, shown, type WireMessage } from "../state/wire.ts";
import { Icon } from "./icon.tsx";
import { duration, size, timeOfDay } from "./units.ts";

/** The same as in the style sheet. Only visible rows are rendered, so all rows must have this height. */
const rowHeight = 30;
const spare = 8;

const kindLabels: Readonly<Record<Kind, string>> = {
  call: "call",
  notification: "notify",
  batch: "batch",
  result: "result",
  error: "error",
  item: "item",
  progress: "progress",
  push: "push",
  control: "control",
  closed: "closed",
  other: "other",
};

/** The messages as rows, the newest last. The list follows new messages unless the user has scrolled up. */
export function WireList({ isPaused }: { readonly isPaused: boolean }) {
  // The array of messages is changed in place, so comparing it would not show changes.
  revision.value;
  const messages = shown();
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);
  const last = messages.at(-1)?.number;
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = (): void => setHeight(element.clientHeight);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && follows.current && !isPaused) element.scrollTop = element.scrollHeight;
  }, [last, isPaused, height]);
  const first = Math.max(0, Math.floor(top / rowHeight) - spare);
  const end = Math.min(messages.length, Math.ceil((top + height) / rowHeight) + spare);
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = messages.findIndex(({ number }) => number === selected.value);
    const index = Math.min(
      messages.length - 1,
      Math.max(0, at === -1 ? messages.length - 1 : at + step),
    );
    selected.value = messages[index]?.number;
    const element = box.current;
    if (element === null) return;
    if (index * rowHeight < element.scrollTop) element.scrollTop = index * rowHeight;
    else if ((index + 1) * rowHeight > element.scrollTop + height) {
      element.scrollTop = (index + 1) * rowHeight - height;
    }
  };
  return (
    <div
      class="wire-list"
      ref={box}
      tabIndex={0}
      role="listbox"
      aria-label="Messages"
      aria-activedescendant={selected.value === undefined ? undefined : `message-${selected.value}`}
      onKeyDown={move}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        setTop(scrollTop);
        follows.current = scrollHeight - scrollTop - clientHeight < rowHeight;
      }}
    >
      <div
        class="wire-length"
        style={{ height: `${messages.length * rowHeight}px` }}
        role="presentation"
      >
        <div
          class="wire-rows"
          style={{ transform: `translateY(${first * rowHeight}px)` }}
          role="presentation"
        >
          {messages.slice(first, end).map((message, i) => (
            <Row
              key={message.number}
              message={message}
              position={first + i + 1}
              count={messages.length}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface RowProps {
  readonly message: WireMessage;
  readonly position: number;
  readonly count: number;
}

function Row({ message, position, count }: RowProps) {
  const { number, at, direction, kind, label, id, gist, bytes, durationMs, transport } = message;
  const isChosen = selected.value === number;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list itself handles the keys.
    <div
      id={`message-${number}`}
      class={`wire-row ${direction} kind-${kind}`}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      aria-posinset={position}
      aria-setsize={count}
      title={`${timeOfDay(at)} over ${transportLabels[transport]}; choose it to read all of it`}
      onClick={() => {
        selected.value = isChosen ? undefined : number;
      }}
    >
      <span class="wire-arrow">
        <Icon name={direction === "sent" ? "up" : "down"} />
        <span class="hidden">{direction}</span>
      </span>
      <span class="wire-time">{timeOfDay(at)}</span>
      <span class="wire-kind">{kindLabels[kind]}</span>
      <span class="wire-label">
        {label}
        {id === "" ? null : <span class="faint"> #{id}</span>}
        <span class="wire-gist"> {gist}</span>
      </span>
      <span class="wire-size">{kind === "closed" ? "" : size(bytes)}</span>
      <span class="wire-took">{durationMs === undefined ? "" : duration(durationMs)}</span>
    </div>
  );
}
