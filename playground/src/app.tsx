import { CallPanel } from "./components/call-panel.tsx";
import { ConnectDialog } from "./components/connect-dialog.tsx";
import { Header } from "./components/header.tsx";
import { MethodsPanel } from "./components/methods-panel.tsx";
import { PaneSwitch } from "./components/pane-switch.tsx";
import { ToolsPanel } from "./components/tools-panel.tsx";
import { goToCall } from "./state/view.ts";

/** Skips the methods, since there may be hundreds, and goes to the call. */
function SkipLink() {
  return (
    <button type="button" class="skip" onClick={goToCall}>
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
