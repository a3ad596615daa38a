import type { ComponentChildren } from "preact";
import { type Tool, tool, tools } from "../state/view.ts";
import { CodePanel } from "./code-panel.tsx";
import { ConformancePanel } from "./conformance-panel.tsx";
import { HistoryPanel } from "./history-panel.tsx";
import { MeasurePanel } from "./measure-panel.tsx";
import { WireView } from "./wire-view.tsx";

const panels: Readonly<
  Record<Tool, { readonly label: string; readonly view: () => ComponentChildren }>
> = {
  wire: { label: "Wire", view: () => <WireView /> },
  code: { label: "Code", view: () => <CodePanel /> },
  measure: { label: "Measure", view: () => <MeasurePanel /> },
  history: { label: "History", view: () => <HistoryPanel /> },
  conformance: { label: "Conformance", view: () => <ConformancePanel /> },
};

/** The panel beside the method: messages, code, measurements, history, conformance. */
export function ToolsPanel() {
  const chosen = tool.value;
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = tools[(tools.indexOf(chosen) + step + tools.length) % tools.length] as Tool;
    tool.value = next;
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <aside class="panel side" aria-label="Tools">
      <div class="tabs" role="tablist" aria-label="Tools" onKeyDown={move}>
        {tools.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === chosen}
            aria-controls="tool"
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => {
              tool.value = name;
            }}
          >
            {panels[name].label}
          </button>
        ))}
      </div>
      <div class="tool" id="tool" role="tabpanel" aria-labelledby={`tab-${chosen}`}>
        {panels[chosen].view()}
      </div>
    </aside>
  );
}
