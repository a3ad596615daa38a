import { choicesOf, typesOf } from "../../schema/resolve.ts";
import type { InputProps } from "./field.tsx";

/** One of several values that the schema lists. */
export function ChoiceInput({
  id,
  value,
  schema,
  required,
  describedBy,
  invalid,
  onChange,
}: InputProps) {
  const listed = choicesOf(schema) ?? (typesOf(schema).includes("null") ? [null] : [true, false]);
  const index = listed.findIndex((choice) => JSON.stringify(choice) === JSON.stringify(value));
  const isUnlisted = value !== undefined && index === -1;
  return (
    <select
      id={id}
      aria-describedby={describedBy}
      aria-invalid={invalid}
      aria-required={required}
      value={isUnlisted ? "unlisted" : String(index)}
      onChange={(event) => {
        const chosen = event.currentTarget.value;
        onChange(chosen === "-1" ? undefined : listed[Number(chosen)]);
      }}
    >
      {required && value !== undefined ? null : <option value="-1">not set</option>}
      {isUnlisted ? <option value="unlisted">{JSON.stringify(value)}</option> : null}
      {listed.map((choice, i) => (
        <option key={JSON.stringify(choice)} value={String(i)}>
          {typeof choice === "string" ? choice : JSON.stringify(choice)}
        </option>
      ))}
    </select>
  );
}
