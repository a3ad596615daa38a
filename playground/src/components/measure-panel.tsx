import { useSignal } from "@preact/signals";
import * as measure from "../state/measure.ts";
import { isStream, selectedMethod } from "../state/methods.ts";
import { LatencyPlot } from "./latency-plot.tsx";
import { RatePlot } from "./rate-plot.tsx";
import { duration } from "./units.ts";

const most = 10_000;

/** Latency and rate of the chosen method. */
export function MeasurePanel() {
  const times = useSignal(100);
  const atOnce = useSignal(1);
  const method = selectedMethod.value;
  if (method === undefined || isStream(method)) {
    return (
      <p class="note empty">
        {method === undefined
          ? "Choose a method to measure it."
          : "Calls are measured, streams are not."}
      </p>
    );
  }
  const { repeating, summary } = measure;
  const found = summary.value;
  const progress = repeating.value;
  return (
    <div class="padded measure">
      <p class="lead">
        <code>{method.name}</code> from this page and back, over the wire that is chosen.
      </p>
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          void measure.repeat(times.value, atOnce.value);
        }}
      >
        <label>
          Call it
          <input
            type="number"
            min={1}
            max={most}
            value={times.value}
            onInput={(event) => {
              times.value = bounded(event.currentTarget.valueAsNumber, most);
            }}
          />
          times,
        </label>
        <label>
          <input
            type="number"
            min={1}
            max={32}
            value={atOnce.value}
            onInput={(event) => {
              atOnce.value = bounded(event.currentTarget.valueAsNumber, 32);
            }}
          />
          at a time
        </label>
        {progress === undefined ? (
          <button type="submit" class="primary">
            Repeat
          </button>
        ) : (
          <button type="button" class="primary stop" onClick={measure.stopRepeating}>
            Stop
          </button>
        )}
      </form>
      {progress === undefined ? null : (
        <progress max={progress.of} value={progress.done} aria-label="Calls made" />
      )}
      {found === undefined ? (
        <p class="note">Each call of this method adds a dot. Make a call, or repeat it.</p>
      ) : (
        <>
          <h3>Latency of each call</h3>
          <LatencyPlot samples={measure.ownSamples.value} />
          <h3>Calls per second</h3>
          <RatePlot samples={measure.ownSamples.value} />
          <dl class="figures">
            <Figure label="median" value={duration(found.medianMs)} />
            <Figure label="95th percentile" value={duration(found.p95Ms)} />
            <Figure label="slowest" value={duration(found.maxMs)} />
            <Figure
              label="calls per second"
              value={found.rate === undefined ? "–" : found.rate.toFixed(found.rate < 10 ? 1 : 0)}
            />
            <Figure label="calls" value={found.count.toLocaleString("en")} />
            <Figure label="failed" value={found.failed.toLocaleString("en")} />
          </dl>
          <button type="button" class="quiet add" onClick={measure.forgetSamples}>
            Clear
          </button>
        </>
      )}
    </div>
  );
}

function Figure({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function bounded(value: number, most: number): number {
  return Number.isFinite(value) ? Math.min(most, Math.max(1, Math.round(value))) : 1;
}
