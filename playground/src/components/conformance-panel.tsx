import {
  type ConformanceLevel,
  type ConformanceResult,
  conformanceGroups,
  conformanceLevels,
} from "callwire/testing";
import {
  check,
  fixtures,
  isChecking,
  mostMessages,
  type Progress,
  progress,
  stopChecking,
} from "../state/conformance.ts";
import { address, transport, transportLabels } from "../state/settings.ts";
import { ConformanceFailure } from "./conformance-failure.tsx";
import { duration, plural } from "./units.ts";

/** Checks the server against the specification, case by case. */
export function ConformancePanel() {
  const known = progress.value;
  return (
    <div class="padded conformance">
      <p class="lead">
        Does <code>{address.value}</code> keep to the specification? The kit sends up to{" "}
        {mostMessages()} messages over{" "}
        {transport.value === "websocket" ? transportLabels.websocket : transportLabels.http}, many
        of them wrong on purpose, and judges the answers.
      </p>
      <div class="bar">
        {isChecking.value ? (
          <button type="button" class="primary stop" onClick={stopChecking}>
            Stop
          </button>
        ) : (
          <button type="button" class="primary" onClick={() => void check()}>
            {known === undefined ? "Check" : "Check again"}
          </button>
        )}
        {isChecking.value && known !== undefined ? (
          <progress max={known.total} value={known.results.length} aria-label="Finished cases" />
        ) : null}
      </div>
      <Fixtures />
      {known === undefined ? null : <Known known={known} />}
    </div>
  );
}

function Known({ known }: { readonly known: Progress }) {
  const { results, report, problem } = known;
  const failed = results.filter(({ outcome }) => outcome === "failed");
  return (
    <>
      {problem === undefined ? null : <p class="fault">{problem}</p>}
      {report === undefined ? null : (
        <p class={report.ok ? "verdict good" : "verdict bad"} role="status">
          {report.ok ? "It keeps every MUST." : "It does not keep every MUST."}{" "}
          <span class="faint">
            {plural(results.length, "case")} in {duration(report.durationMs)}
            {report.hint === undefined ? "" : ` · ${report.hint}`}
          </span>
        </p>
      )}
      {results.length === 0 ? null : <Table results={results} />}
      {failed.map((result) => (
        <ConformanceFailure key={result.case.id} result={result} />
      ))}
    </>
  );
}

function Table({ results }: { readonly results: readonly ConformanceResult[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Cases</th>
          {conformanceLevels.map((level) => (
            <th key={level} scope="col">
              {level}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {conformanceGroups.map((group) => {
          const own = results.filter(({ case: each }) => each.group === group);
          return own.length === 0 ? null : (
            <tr key={group}>
              <th scope="row">{group}</th>
              {conformanceLevels.map((level) => (
                <td key={level}>
                  <Cell results={own} level={level} />
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

interface CellProps {
  readonly results: readonly ConformanceResult[];
  readonly level: ConformanceLevel;
}

/** How many of the cases that ran have passed; browsers cannot send all of them. */
function Cell({ results, level }: CellProps) {
  const own = results.filter(({ case: each }) => each.level === level);
  const skipped = own.filter(({ outcome }) => outcome === "skipped").length;
  const passed = own.filter(({ outcome }) => outcome === "passed").length;
  const ran = own.length - skipped;
  return (
    <>
      {ran === 0 ? null : (
        <span class={passed === ran ? "good" : "bad"}>
          {passed} of {ran}
        </span>
      )}
      {skipped === 0 ? null : <span class="faint"> {skipped} left out</span>}
    </>
  );
}

/** Other servers have other names for these methods. */
function Fixtures() {
  const given = fixtures.value;
  return (
    <details>
      <summary>Methods that some cases call</summary>
      <div class="fields">
        {(Object.keys(given) as (keyof typeof given)[]).map((name) => (
          <div class="field" key={name}>
            <label for={`fixture-${name}`}>
              <span class="field-name">{name}</span>
              <span class="field-type">{meanings[name]}</span>
            </label>
            <input
              id={`fixture-${name}`}
              value={given[name]}
              spellcheck={false}
              onInput={(event) => {
                fixtures.value = { ...given, [name]: event.currentTarget.value };
              }}
            />
          </div>
        ))}
      </div>
    </details>
  );
}

const meanings = {
  add: "adds two numbers by position",
  echo: "answers with its one param",
  fail: "fails with an internal error",
} as const;
