import type { Path } from "../../schema/path.ts";
import { sampleOf } from "../../schema/sample.ts";
import { itemSchema } from "../../schema/validate.ts";
import { components } from "../../state/session.ts";
import { Icon } from "../icon.tsx";
import { Field, type InputProps } from "./field.tsx";

/** More would make the form slow; the editor shows all. */
const mostShown = 50;

/** The items of an array. */
export function ListFields({
  value,
  schema,
  required,
  onChange,
  path,
}: InputProps & { readonly path: Path }) {
  const items = Array.isArray(value) ? (value as readonly unknown[]) : [];
  const next = itemSchema(schema, items.length);
  return (
    <div class="fields">
      {items.slice(0, mostShown).map((_, i) => (
        // Items have no names, so the index is the key.
        <div class="item" key={i}>
          <Field
            label={`item ${i + 1}`}
            path={[...path, i]}
            schema={itemSchema(schema, i) ?? {}}
            required={true}
          />
          <button
            type="button"
            class="quiet only-icon"
            title={`Remove item ${i + 1}`}
            onClick={() => onChange(items.filter((__, other) => other !== i))}
          >
            <Icon name="close" />
            <span class="hidden">Remove item {i + 1}</span>
          </button>
        </div>
      ))}
      {items.length > mostShown ? (
        <p class="note">{items.length - mostShown} more in the editor</p>
      ) : null}
      <div class="row">
        {next === undefined ? null : (
          <button
            type="button"
            class="quiet add"
            onClick={() => onChange([...items, sampleOf(next, components.value)])}
          >
            <Icon name="plus" />
            Add an item
          </button>
        )}
        {required || value === undefined ? null : (
          <button type="button" class="quiet add" onClick={() => onChange(undefined)}>
            <Icon name="close" />
            Leave it out
          </button>
        )}
      </div>
    </div>
  );
}
