import type { JsonSchema } from "callwire/openrpc";
import { typeText } from "../../schema/describe.ts";
import type { Path } from "../../schema/path.ts";
import { isObject, resolved, variantsOf } from "../../schema/resolve.ts";
import { sampleOf } from "../../schema/sample.ts";
import { faultsOf } from "../../schema/validate.ts";
import { components } from "../../state/session.ts";
import { Field, type InputProps } from "./field.tsx";

/** A choice between shapes, and the fields of the one that is chosen. */
export function UnionField({
  value,
  schema,
  required,
  onChange,
  path,
  id,
  label,
}: InputProps & { readonly path: Path; readonly label: string }) {
  const variants = variantsOf(schema) ?? [];
  const fits = variants.findIndex(
    (variant) => faultsOf(value, variant, components.value).length === 0,
  );
  const chosen = value === undefined ? -1 : fits === -1 ? likeliest(value, variants) : fits;
  const variant = variants[chosen];
  return (
    <div class="fields">
      <select
        id={`${id}-shape`}
        aria-label={`shape of ${label}`}
        value={String(chosen)}
        onChange={(event) => {
          const next = variants[Number(event.currentTarget.value)];
          onChange(next === undefined ? undefined : sampleOf(next, components.value));
        }}
      >
        {required && value !== undefined ? null : <option value="-1">not set</option>}
        {variants.map((option, i) => (
          <option key={i} value={String(i)}>
            {nameOf(option)}
          </option>
        ))}
      </select>
      {variant === undefined || isNull(variant) ? null : (
        <Field label={label} path={path} schema={variant} required={true} />
      )}
    </div>
  );
}

function isNull(variant: JsonSchema): boolean {
  return resolved(variant, components.value).type === "null";
}

/** The alternative that an incomplete value fits best; constants such as `"kind": "circle"` decide. */
function likeliest(value: unknown, variants: readonly JsonSchema[]): number {
  const faults = variants.map((variant) => {
    const { properties = {} } = resolved(variant, components.value);
    const isOther = Object.entries(properties).some(([name, member]) => {
      const mark = resolved(member as JsonSchema, components.value);
      return "const" in mark && isObject(value) && value[name] !== mark.const;
    });
    return (isOther ? 1_000 : 0) + faultsOf(value, variant, components.value).length;
  });
  return faults.indexOf(Math.min(...faults));
}

function nameOf(variant: JsonSchema): string {
  const known = resolved(variant, components.value);
  if (typeof known.title === "string") return known.title;
  const marks = Object.entries(known.properties ?? {}).flatMap(([name, member]) => {
    const mark = resolved(member as JsonSchema, components.value);
    return "const" in mark ? [`${name}: ${JSON.stringify(mark.const)}`] : [];
  });
  return marks.length > 0 ? marks.join(", ") : typeText(variant, components.value);
}
