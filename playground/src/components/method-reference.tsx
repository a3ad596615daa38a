import { type OpenrpcMethod, schemaLimits } from "callwire/openrpc";
import { typeText } from "../schema/describe.ts";
import { exampleParams } from "../schema/params.ts";
import { touched, write } from "../state/draft.ts";
import { components } from "../state/session.ts";
import { Markdown } from "./markdown.tsx";
import { Scrollable } from "./scrollable.tsx";

/** What the server says about a method: params, result, errors and examples. */
export function MethodReference({ method }: { readonly method: OpenrpcMethod }) {
  return (
    <section class="reference" aria-label="Reference">
      <Params method={method} />
      <Upload method={method} />
      <Result method={method} />
      <Errors method={method} />
      <Examples method={method} />
    </section>
  );
}

function Params({ method }: { readonly method: OpenrpcMethod }) {
  const whole = method["x-params"];
  if (method.params.length === 0 && whole === undefined) return null;
  const abouts = method.params.map(({ schema, description, summary = "" }) => ({
    about: description ?? summary,
    limits: schemaLimits(schema, components.value),
  }));
  const hasAbout = abouts.some(({ about, limits }) => about !== "" || limits !== "");
  return (
    <div>
      <h3>Params</h3>
      <Scrollable class="table" label="Params of the method">
        <table>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Type</th>
              {hasAbout ? <th scope="col">About</th> : null}
            </tr>
          </thead>
          <tbody>
            {method.params.map(({ name, schema, required, deprecated }, i) => (
              <tr key={name}>
                <th scope="row">
                  <code>{name}</code>
                  {required === true ? null : <span class="faint"> optional</span>}
                  {deprecated === true ? <span class="mark old">deprecated</span> : null}
                </th>
                <td>
                  <code>{typeText(schema, components.value)}</code>
                </td>
                {hasAbout ? (
                  <td>
                    <Markdown text={abouts[i]?.about} />
                    <span class="faint">{abouts[i]?.limits}</span>
                  </td>
                ) : null}
              </tr>
            ))}
            {method.params.length === 0 ? (
              <tr>
                <th scope="row">all params</th>
                <td>
                  <code>{typeText(whole, components.value)}</code>
                </td>
              </tr>
            ) : null}
          </tbody>
        </table>
      </Scrollable>
    </div>
  );
}

function Upload({ method }: { readonly method: OpenrpcMethod }) {
  const upload = method["x-upload"];
  if (upload === undefined) return null;
  return (
    <div>
      <h3>Items of the upload</h3>
      <p>
        <code>{typeText(upload.item, components.value)}</code>
      </p>
    </div>
  );
}

function Result({ method }: { readonly method: OpenrpcMethod }) {
  const stream = method["x-stream"];
  const schema = stream?.item ?? method.result?.schema;
  return (
    <div>
      <h3>{stream === undefined ? "Result" : "Items of the stream"}</h3>
      <p>
        <code>{typeText(schema, components.value)}</code>
      </p>
      <Markdown text={stream === undefined ? method.result?.description : undefined} />
    </div>
  );
}

function Errors({ method }: { readonly method: OpenrpcMethod }) {
  const named =
    method["x-errors"] ??
    (method.errors ?? []).map((error) => ({ ...error, name: "", data: undefined }));
  if (named.length === 0) return null;
  return (
    <div>
      <h3>Errors</h3>
      <ul class="plain">
        {named.map(({ code, name, message, data }) => (
          <li key={`${code} ${name}`}>
            <code>{code}</code> {message}
            {data === undefined ? null : (
              <>
                {" with "}
                <code>{typeText(data, components.value)}</code>
              </>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Examples({ method }: { readonly method: OpenrpcMethod }) {
  const examples = method.examples ?? [];
  if (examples.length === 0) return null;
  return (
    <div>
      <h3>Examples</h3>
      <ul class="plain examples">
        {examples.map((example, i) => {
          const params = exampleParams(method, example);
          const answer = example["x-stream"]?.items ?? example.result?.value;
          return (
            <li key={i}>
              <button
                type="button"
                class="quiet"
                title="Fill in these params"
                onClick={() => {
                  write(params);
                  touched.value = false;
                }}
              >
                Use
              </button>
              <code>
                {short(params)}
                {answer === undefined ? "" : ` → ${short(answer)}`}
              </code>
              {/^example \d+$/.test(example.name) ? null : (
                <span class="faint">{example.name}</span>
              )}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function short(value: unknown): string {
  const text = value === undefined ? "no params" : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}
