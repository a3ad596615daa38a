import { CallPanel } from "./components/call-panel.tsx";
import { ConnectDialog } from "./components/connect-dialog.tsx";
import { Header } from "./components/header.tsx";
import { MethodsPanel } from "./components/methods-panel.tsx";
import { PaneSwitch } from "./components/pane-switch.tsx";
import { ToolsPanel } from "./components/tools-panel.tsx";

export function App() {
  return (
    <>
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
