import type { ComponentChildren, RefObject } from "preact";

interface ScrollableProps {
  readonly class: string;
  /** What is inside, for those who cannot see it. */
  readonly label: string;
  readonly children: ComponentChildren;
  readonly box?: RefObject<HTMLElement | null>;
  readonly onScroll?: (event: { readonly currentTarget: HTMLElement }) => void;
}

/** Something that may be longer than its place. */
export function Scrollable({ class: name, label, children, box, onScroll }: ScrollableProps) {
  return (
    <section
      class={name}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no mouse scrolls with the keys.
      tabIndex={0}
      {...(box === undefined ? {} : { ref: box })}
      {...(onScroll === undefined ? {} : { onScroll })}
    >
      {children}
    </section>
  );
}
