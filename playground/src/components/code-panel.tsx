import { useSignal } from "@preact/signals";
import { languages } from "../code/languages.ts";
import type { Sketch } from "../code/sketch.ts";
import * as draft from "../state/draft.ts";
import { isStream, selectedMethod } from "../state/methods.ts";
import { address, headers, transport, version } from "../state/settings.ts";
import { CopyButton } from "./copy-button.tsx";
import { Scrollable } from "./scrollable.tsx";
import { Segmented } from "./segmented.tsx";

/** The current call as code for other programs. */
export function CodePanel() {
  const chosen = useSignal("curl");
  const method = selectedMethod.value;
  if (method === undefined)
    return <p class="note empty">Choose a method to see its call as code.</p>;
  draft.text.value;
  const sketch: Sketch = {
    address: address.value,
    transport: transport.value,
    version: version.value,
    method: method.name,
    params: draft.paramsToSend(),
    isStream: isStream(method),
    headerNames: Object.keys(headers.value.given),
  };
  const language = languages.find(({ name }) => name === chosen.value);
  const code = language?.write(sketch) ?? "";
  return (
    <div class="padded code-panel">
      <div class="bar">
        <Segmented
          label="Language"
          value={chosen.value}
          onChange={(name) => {
            chosen.value = name;
          }}
          options={languages.map(({ name }) => ({ value: name, label: name }))}
        />
        <CopyButton label="Copy" wide={true} text={() => code} />
      </div>
      <Scrollable class="source" label={`The call in ${chosen.value}`}>
        {code}
      </Scrollable>
    </div>
  );
}
