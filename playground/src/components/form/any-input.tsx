import { useState } from "preact/hooks";
import type { InputProps } from "./field.tsx";

/** Any JSON; input that is not JSON is taken as a string. */
export function AnyInput({ id, value, required, describedBy, invalid, onChange }: InputProps) {
  const [typed, setTyped] = useState("");
  const isTyped = value !== undefined && JSON.stringify(read(typed)) === JSON.stringify(value);
  const shown = isTyped ? typed : written(value);
  const change = (text: string): void => {
    setTyped(text);
    onChange(text === "" && !required ? undefined : read(text));
  };
  return (
    <textarea
      id={id}
      rows={shown.includes("\n") ? 4 : 1}
      value={shown}
      aria-describedby={describedBy}
      aria-invalid={invalid}
      aria-required={required}
      placeholder="any JSON, or text"
      spellcheck={false}
      onInput={(event) => change(event.currentTarget.value)}
    />
  );
}

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A string is shown without quotes unless it would then be read as something else. */
function written(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string" && read(value) === value) return value;
  return JSON.stringify(value, null, 2);
}
