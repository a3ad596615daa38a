import { useEffect, useState } from "preact/hooks";
import { Icon, type IconName } from "./icon.tsx";

interface CopyButtonProps {
  readonly text: () => string;
  readonly label: string;
  readonly icon?: IconName;
  /** Shows the label beside the icon. */
  readonly wide?: boolean;
}

/** Copies a text, and briefly confirms it. */
export function CopyButton({ text, label, icon = "copy", wide = false }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (): void => {
    navigator.clipboard.writeText(text()).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <button type="button" class={wide ? "quiet" : "quiet only-icon"} title={label} onClick={copy}>
      <Icon name={copied ? "check" : icon} />
      <span class={wide ? "" : "hidden"}>{copied ? "Copied" : label}</span>
    </button>
  );
}
