import type { JsonSchema } from "callwire/openrpc";
import type { Path } from "../../schema/path.ts";
import { isObject } from "../../schema/resolve.ts";
import { sampleOf } from "../../schema/sample.ts";
import { components } from "../../state/session.ts";
import { Icon } from "../icon.tsx";
import { Field, type InputProps } from "./field.tsx";

/** The members of an object. */
export function GroupFields({
  value,
  schema,
  required,
  onChange,
  path,
}: InputProps & { readonly path: Path }) {
  if (!isObject(value)) {
    return (
      <button
        type="button"
        class="quiet add"
        onClick={() =>
          onChange(
            sampleOf({ ...schema, default: undefined, type: "object" }, components.value) ?? {},
          )
        }
      >
        <Icon name="plus" />
        {value === undefined ? "Set it" : "Make it an object"}
      </button>
    );
  }
  const { properties = {}, required: needed = [] } = schema;
  return (
    <div class="fields">
      {Object.entries(properties).map(([name, member]) => (
        <Field
          key={name}
          label={name}
          path={[...path, name]}
          schema={member as JsonSchema}
          required={needed.includes(name)}
        />
      ))}
      {required ? null : (
        <button type="button" class="quiet add" onClick={() => onChange(undefined)}>
          <Icon name="close" />
          Leave it out
        </button>
      )}
    </div>
  );
}
