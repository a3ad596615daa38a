import { description, status } from "../state/session.ts";
import { address, transport, transportLabels, wires } from "../state/settings.ts";
import { linkToCall } from "../state/share.ts";
import { isConnectOpen, type Theme, theme, themes } from "../state/view.ts";
import { CopyButton } from "./copy-button.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { Segmented } from "./segmented.tsx";

/** Which server this is, how it is reached, and how the page looks. */
export function Header() {
  const info = description.value?.info;
  return (
    <header class="top">
      <div class="brand">
        <Mark />
        <span class="brand-name">callwire</span>
        <span class="server" title={address.value}>
          {info === undefined || info.title === "callwire server"
            ? address.value
            : `${info.title} ${info.version}`}
        </span>
      </div>
      <StatusPill />
      <Segmented
        label="Wire"
        value={transport.value}
        onChange={(name) => {
          transport.value = name;
        }}
        options={wires.value.map((name) => ({ value: name, label: transportLabels[name] }))}
      />
      <div class="tools">
        <button
          type="button"
          class="quiet"
          onClick={() => {
            isConnectOpen.value = true;
          }}
        >
          <Icon name="plug" />
          Connect
        </button>
        <CopyButton label="Copy a link to this call" icon="link" text={linkToCall} />
        <ThemeButton />
      </div>
    </header>
  );
}

function Mark() {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" />
      <path d="M7 12h13m0 0-4-4m4 4-4 4M25 21H12m0 0 4-4m-4 4 4 4" />
    </svg>
  );
}

function StatusPill() {
  const now = status.value;
  const labels: Readonly<Record<typeof now.state, string>> = {
    connecting: "Connecting",
    connected: "Connected",
    silent: "No description",
    locked: "Credential needed",
    refused: "Refused",
    lost: "Reconnecting",
  };
  return (
    <span
      class={`status ${now.state}`}
      role="status"
      title={"message" in now ? now.message : labels[now.state]}
    >
      <span class="dot" />
      {labels[now.state]}
    </span>
  );
}

const themeIcons: Readonly<Record<Theme, IconName>> = {
  system: "system",
  light: "sun",
  dark: "moon",
};

function ThemeButton() {
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? "system";
  const label = `Colours: ${theme.value}. Change to ${next}`;
  return (
    <button
      type="button"
      class="quiet only-icon"
      title={label}
      onClick={() => {
        theme.value = next;
      }}
    >
      <Icon name={themeIcons[theme.value]} />
      <span class="hidden">{label}</span>
    </button>
  );
}
