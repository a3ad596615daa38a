import type { Sample } from "../state/measure.ts";
import { niceAbove } from "./axis.ts";

const width = 400;
const height = 80;
const left = 46;
const bottom = 8;
const top = 10;
const bars = 40;

/** Replies per second over the time of the last calls. */
export function RatePlot({ samples }: { readonly samples: readonly Sample[] }) {
  const first = samples[0]?.at ?? 0;
  const span = Math.max((samples.at(-1)?.at ?? 0) - first, 1);
  const counts = Array.from({ length: bars }, () => 0);
  for (const { at } of samples) {
    const bar = Math.min(bars - 1, Math.floor(((at - first) / span) * bars));
    counts[bar] = (counts[bar] ?? 0) + 1;
  }
  const rates = counts.map((count) => count / (span / bars / 1000));
  const most = niceAbove(Math.max(...rates, 1));
  const y = (rate: number): number => top + (1 - rate / most) * (height - top - bottom);
  const step = (width - left - 6) / bars;
  return (
    <svg
      class="plot"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label="Calls per second over time"
    >
      {[0, 1].map((share) => (
        <g key={share}>
          <line class="grid" x1={left} x2={width} y1={y(most * share)} y2={y(most * share)} />
          <text x={left - 6} y={y(most * share) + 3.5}>
            {(most * share).toLocaleString("en")}
          </text>
        </g>
      ))}
      {rates.map((rate, i) => (
        <rect
          key={`${i} of ${bars}`}
          x={left + i * step + 0.5}
          y={y(rate)}
          width={step - 1}
          height={height - bottom - y(rate)}
        />
      ))}
    </svg>
  );
}
