import { printable } from "./call-failure.ts";
import type { Tap } from "./tap.ts";
import type { Terminal } from "./terminal.ts";

/** Shows the messages both ways, each with its time since the first one and its size. */
export function transcript(terminal: Terminal): Tap {
  let start: number | undefined;
  const line = (arrow: string, rest: string): void => {
    start ??= performance.now();
    const ms = (performance.now() - start).toFixed(1).padStart(8);
    terminal.line(`${arrow} ${terminal.dim(`${ms} ms`)} ${rest}`);
  };
  const sized = (text: string): string =>
    `${terminal.dim(`${Buffer.byteLength(text)} B`.padStart(8))}  ${printable(text)}`;
  return {
    sent: (text) => line(terminal.cyan("-->"), sized(text)),
    received: (text) => line(terminal.green("<--"), sized(text)),
    noted: (sentence) => line("   ", `${" ".repeat(8)}  ${terminal.dim(printable(sentence))}`),
  };
}
