import type { Sample } from "../state/measure.ts";
import { niceAbove } from "./axis.ts";
import { duration } from "./units.ts";

const width = 400;
const height = 140;
const left = 46;
const bottom = 8;
const top = 10;
/** Most dots; more would overlap. */
const mostDots = 200;

/** Latency of the last calls, the newest on the right. */
export function LatencyPlot({ samples }: { readonly samples: readonly Sample[] }) {
  const shown = samples.slice(-mostDots);
  const most = niceAbove(Math.max(...shown.map(({ ms }) => ms), 1));
  const x = (i: number): number =>
    left + ((i + 0.5) / Math.max(shown.length, 20)) * (width - left - 6);
  const y = (ms: number): number => top + (1 - ms / most) * (height - top - bottom);
  const line = shown.map(
    ({ ms }, i) => `${i === 0 ? "M" : "L"}${x(i).toFixed(1)} ${y(ms).toFixed(1)}`,
  );
  return (
    <svg
      class="plot"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`Latency of the last ${shown.length} calls`}
    >
      {[0, 0.5, 1].map((share) => (
        <g key={share}>
          <line class="grid" x1={left} x2={width} y1={y(most * share)} y2={y(most * share)} />
          <text x={left - 6} y={y(most * share) + 3.5}>
            {share === 0 ? "0" : duration(most * share)}
          </text>
        </g>
      ))}
      <path class="trend" d={line.join("")} />
      {shown.map(({ at, ms, ok }, i) => (
        <circle
          key={at}
          class={ok ? "" : "failed"}
          cx={x(i)}
          cy={y(ms)}
          r={shown.length > 80 ? 1.6 : 2.6}
        />
      ))}
    </svg>
  );
}
