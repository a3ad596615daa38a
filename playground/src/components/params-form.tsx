import type { OpenrpcMethod } from "callwire/openrpc";
import * as draft from "../state/draft.ts";
import { Field } from "./form/field.tsx";

/** The params of a method as fields, made from their schemas. */
export function ParamsForm({ method }: { readonly method: OpenrpcMethod }) {
  const isReadable = "value" in draft.parsed.value;
  const whole = method["x-params"];
  const { params } = method;
  if (params.length === 0 && whole === undefined) {
    return <p class="note">This method has no params.</p>;
  }
  return (
    <fieldset class="plain fields" disabled={!isReadable} aria-label="params">
      {isReadable ? null : <p class="note">The form is available when the JSON is valid.</p>}
      {params.length === 0 ? (
        <Field label="params" path={[]} schema={draft.schema.value} required={false} />
      ) : (
        params.map(({ name, schema, required, description, summary }, i) => (
          <Field
            key={name}
            label={name}
            path={[draft.form.value === "positional" ? i : name]}
            schema={schema}
            required={required === true}
            description={description ?? summary}
          />
        ))
      )}
    </fieldset>
  );
}
