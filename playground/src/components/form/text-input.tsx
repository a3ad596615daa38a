import { useState } from "preact/hooks";
import { typesOf } from "../../schema/resolve.ts";
import type { InputProps } from "./field.tsx";

/** A string or a number. Input that is not a number stays as typed, so that the fault can be shown. */
export function TextInput({
  id,
  value,
  schema,
  required,
  describedBy,
  invalid,
  onChange,
}: InputProps) {
  const isNumber = typesOf(schema).some((type) => type === "number" || type === "integer");
  const read = (text: string): unknown => (isNumber ? numberOf(text) : text);
  // "1." may become "1.5", so it must not be rewritten to "1".
  const [typed, setTyped] = useState("");
  const shown = value !== undefined && read(typed) === value ? typed : written(value);
  const change = (text: string): void => {
    setTyped(text);
    const isLeftOut = text === "" && (isNumber || !required);
    onChange(isLeftOut ? undefined : read(text));
  };
  const common = {
    id,
    value: shown,
    "aria-describedby": describedBy,
    "aria-invalid": invalid,
    "aria-required": required,
    placeholder: "default" in schema ? written(schema.default) : "",
    autocomplete: "off" as const,
    spellcheck: false,
  };
  if (shown.length > 60 || shown.includes("\n")) {
    return <textarea {...common} rows={4} onInput={(event) => change(event.currentTarget.value)} />;
  }
  const onInput = (event: { readonly currentTarget: HTMLInputElement }): void =>
    change(event.currentTarget.value);
  return schema.format === "password" || schema.writeOnly === true ? (
    <input {...common} type="password" onInput={onInput} />
  ) : (
    <input {...common} type="text" inputMode={isNumber ? "decimal" : "text"} onInput={onInput} />
  );
}

function numberOf(text: string): unknown {
  const number = Number(text.trim());
  return text.trim() === "" || !Number.isFinite(number) ? text : number;
}

function written(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
