const dayMs = 86_400_000;
let lastDay = Number.NaN;
let dayText = "";
let lastMs = Number.NaN;
let lastText = "";

/**
 * The same as `toISOString` of a valid date. That spends most of its time on the day, which is cached because many dates
 * share it. A busy server writes many log lines in one millisecond.
 */
export function isoTime(ms: number): string {
  if (ms !== lastMs) {
    lastText = newIsoTime(ms);
    lastMs = ms;
  }
  return lastText;
}

function newIsoTime(ms: number): string {
  const time = ((ms % dayMs) + dayMs) % dayMs;
  if (ms - time !== lastDay) {
    dayText = new Date(ms).toISOString().slice(0, -"00:00:00.000Z".length);
    lastDay = ms - time;
  }
  const seconds = Math.floor(time / 1000);
  const minutes = Math.floor(seconds / 60);
  const millis = time % 1000;
  return `${dayText}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}:${two(seconds % 60)}.${
    millis < 100 ? "0" : ""
  }${two(millis)}Z`;
}

function two(value: number): string {
  return value < 10 ? `0${value}` : `${value}`;
}
