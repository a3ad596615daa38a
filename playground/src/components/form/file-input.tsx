import { hold, isHeld } from "../../state/files.ts";
import type { InputProps } from "./field.tsx";

/** A file, or bytes that are read from one. */
export function FileInput({ id, value, schema, describedBy, invalid, onChange }: InputProps) {
  const isGone = typeof value === "object" && value !== null && !isHeld(value);
  const change = async (file: File | undefined): Promise<void> =>
    onChange(file === undefined ? undefined : await hold(file, String(schema["x-callwire-type"])));
  return (
    <>
      <input
        id={id}
        type="file"
        aria-describedby={describedBy}
        aria-invalid={invalid}
        onChange={(event) => void change(event.currentTarget.files?.[0])}
      />
      {isGone ? <p class="note">Choose the file again: a page cannot keep it.</p> : null}
    </>
  );
}
