import { type Pane, pane } from "../state/view.ts";

const labels: Readonly<Record<Pane, string>> = {
  methods: "Methods",
  call: "Call",
  tools: "Wire",
};

/** Chooses the visible panel on narrow screens. */
export function PaneSwitch() {
  return (
    <nav class="panes" aria-label="Panels">
      {(Object.keys(labels) as Pane[]).map((name) => (
        <button
          key={name}
          type="button"
          aria-current={pane.value === name ? "true" : undefined}
          onClick={() => {
            pane.value = name;
          }}
        >
          {labels[name]}
        </button>
      ))}
    </nav>
  );
}
