import { CallPanel } from "./components/call-panel.tsx";
import { ConnectDialog } from "./components/connect-dialog.tsx";
import { Header } from "./components/header.tsx";
import { MethodsPanel } from "./components/methods-panel.tsx";
import { PaneSwitch } from "./components/pane-switch.tsx";
import { ToolsPanel } from "./components/tools-panel.tsx";
import { pane } from "./state/view.ts";

/** Skips the methods, since there may be hundreds, and goes to the call. */
function SkipLink() {
  return (
    <button
      type="button"
      class="skip"
      onClick={() => {
        pane.value = "call";
        // On a narrow screen the panel becomes visible in the next frame.
        requestAnimationFrame(() => document.getElementById("call")?.focus());
      }}
    >
      Skip to the call
    </button>
  );
}

export function App() {
  return (
    <>
      <SkipLink />
      <Header />
      <div class="panels">
        <MethodsPanel />
        <CallPanel />
        <ToolsPanel />
      </div>
      <PaneSwitch />
      <ConnectDialog />
    </>
  );
}
