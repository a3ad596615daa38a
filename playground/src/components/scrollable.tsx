import type { ComponentChildren, RefObject } from "preact";

interface ScrollableProps {
  readonly class: string;
  /** Describes the content for screen readers. */
  readonly label: string;
  readonly children: ComponentChildren;
  readonly box?: RefObject<HTMLElement | null>;
  readonly onScroll?: (event: { readonly currentTarget: HTMLElement }) => void;
}

/** Content that may be larger than its box. */
export function Scrollable({ class: name, label, children, box, onScroll }: ScrollableProps) {
  return (
    <section
      class={name}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users need the focus to scroll.
      tabIndex={0}
      {...(box === undefined ? {} : { ref: box })}
      {...(onScroll === undefined ? {} : { onScroll })}
    >
      {children}
    </section>
  );
}
