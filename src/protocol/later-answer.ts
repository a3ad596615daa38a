/** Takes the reply to a payload, or undefined if none is due; called once. */
export interface AnswerReceiver {
  answered(text: string | undefined): void;
}

/** The placeholder for an answer that its receiver gets later; a promise of it would cost as much as a short call. */
export const later: Promise<undefined> = new Promise(() => {});

/** An answer as a promise, for callers without a receiver. */
export class LaterAnswer implements AnswerReceiver {
  readonly promise: Promise<string | undefined> = new Promise(keepResolve);
  readonly answered: (text: string | undefined) => void = kept;
}

/** Resolves the promise made last; an executor per answer would cost a closure and everything that it captures. */
let kept: (text: string | undefined) => void;

function keepResolve(resolve: (text: string | undefined) => void): void {
  kept = resolve;
}
