import { printable } from "./call-failure.ts";
import type { Tap } from "./tap.ts";
import type { Terminal } from "./terminal.ts";

/** Shows the messages both ways, each with its time since the start and its size. */
export function transcript(terminal: Terminal): Tap {
  const start = performance.now();
  const line = (arrow: string, rest: string): void => {
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
