import { type JsonSchema, type JsonSchemaObject, schemaLimits } from "callwire/openrpc";
import { typeText } from "../../schema/describe.ts";
import { type Path, samePath, valueAt } from "../../schema/path.ts";
import {
  choicesOf,
  fileTypes,
  isObject,
  resolved,
  typesOf,
  variantsOf,
} from "../../schema/resolve.ts";
import * as draft from "../../state/draft.ts";
import { components } from "../../state/session.ts";
import { AnyInput } from "./any-input.tsx";
import { ChoiceInput } from "./choice-input.tsx";
import { FileInput } from "./file-input.tsx";
import { GroupFields } from "./group-fields.tsx";
import { ListFields } from "./list-fields.tsx";
import { TextInput } from "./text-input.tsx";
import { UnionField } from "./union-field.tsx";

export interface FieldProps {
  readonly label: string;
  readonly path: Path;
  readonly schema: JsonSchema;
  readonly required: boolean;
  readonly description?: string | undefined;
}

/** What an input needs to show and change a value. */
export interface InputProps {
  readonly id: string;
  readonly value: unknown;
  readonly schema: JsonSchemaObject;
  readonly required: boolean;
  readonly describedBy: string;
  readonly invalid: boolean;
  readonly onChange: (value: unknown) => void;
}

/** Deeper values are edited in the JSON editor. */
const deepest = 8;

/** One value of the params, with everything inside it. */
export function Field({ label, path, schema, required, description }: FieldProps) {
  const known = resolved(schema, components.value);
  const value = valueAt(draft.value.value, path);
  const id = `field-${path.join("-")}`;
  const kind = kindOf(known, path);
  // The field inside a union has the same path and shows the faults.
  const isShown = draft.touched.value && !(kind === "union" && value !== undefined);
  const here = isShown ? draft.faults.value.filter((fault) => samePath(fault.path, path)) : [];
  // Faults from the server are shown only if the page finds none itself.
  const own = here.filter(({ fromServer }) => fromServer !== true);
  const shown = own.length > 0 ? own : here;
  const input: InputProps = {
    id,
    value,
    schema: known,
    required,
    describedBy: `${id}-about`,
    invalid: shown.length > 0,
    onChange: (next) => draft.setAt(path, next),
  };
  const isNested = kind === "group" || kind === "list" || kind === "union";
  const about = description ?? textOf(known.description);
  const limits = schemaLimits(schema, components.value);
  const heading = (
    <>
      <span class="field-name">{label}</span>
      <span class="field-type">{typeText(schema, components.value)}</span>
      {required ? <span class="field-needed">required</span> : null}
    </>
  );
  const notes = (
    <div class="field-notes" id={`${id}-about`}>
      {about === undefined ? null : <span>{about}</span>}
      {limits === "" ? null : <span class="field-limits">{limits}</span>}
      {shown.map(({ message, fromServer }) => (
        <span key={message} class="fault" role="alert">
          {fromServer === true ? "The server says:" : label} {message}
        </span>
      ))}
    </div>
  );
  if (isNested) {
    return (
      <fieldset class="field nested" aria-describedby={input.describedBy}>
        <legend>{heading}</legend>
        {notes}
        {kind === "group" ? <GroupFields {...input} path={path} /> : null}
        {kind === "list" ? <ListFields {...input} path={path} /> : null}
        {kind === "union" ? <UnionField {...input} path={path} label={label} /> : null}
      </fieldset>
    );
  }
  return (
    <div class="field">
      <label for={id}>{heading}</label>
      {kind === "choice" ? <ChoiceInput {...input} /> : null}
      {kind === "text" ? <TextInput {...input} /> : null}
      {kind === "file" ? <FileInput {...input} /> : null}
      {kind === "any" ? <AnyInput {...input} /> : null}
      {notes}
    </div>
  );
}

function kindOf(schema: JsonSchemaObject, path: Path): string {
  if (choicesOf(schema) !== undefined) return "choice";
  if (fileTypes.has(schema["x-callwire-type"])) return "file";
  if (path.length > deepest) return "any";
  if (variantsOf(schema) !== undefined) return "union";
  const types = typesOf(schema);
  if (types.length !== 1) return "any";
  switch (types[0]) {
    case "boolean":
    case "null":
      return "choice";
    case "object":
      return isObject(schema.properties) ? "group" : "any";
    case "array":
      return "list";
    default:
      return "text";
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
