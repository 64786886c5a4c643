import { CR, isSpace, LF } from './chars.ts';

/**
 * The text from one tag that counts to the next. `put` says what of it may leave now; what rule 2.2 lets us hold
 * (white space at its start, in speech one line break that may be the last, half a surrogate pair) is `held`.
 */
export interface Run {
  /** Something but white space has been seen: the run gives events. */
  started: boolean;
  /** Straight after the opening tag of a thought or response: its first line break is dropped. */
  fresh: boolean;
  /** In a thought or response. */
  speech: boolean;
  held: string;
}

export function createRun(): Run {
  return { started: false, fresh: false, speech: false, held: '' };
}

export function startRun(run: Run, speech: boolean, fresh: boolean): void {
  run.started = false;
  run.fresh = fresh;
  run.speech = speech;
  run.held = '';
}

/** Takes the next text (not empty) and returns what leaves, which may be nothing. */
export function put(run: Run, text: string): string {
  let out = text;
  if (!run.started) {
    if (isBlank(text)) {
      run.held += text;
      return '';
    }
    run.held += text;
    out = leave(run);
  } else if (run.held !== '') {
    out = run.held + text;
    run.held = '';
  }
  const last = out.charCodeAt(out.length - 1);
  if (!mayBeHeld(last)) return out;
  const keep = out.length - tailLength(run, out, last);
  if (keep === out.length) return out;
  run.held = out.slice(keep);
  return out.slice(0, keep);
}

/** Whether text that ends with this character may have to be held in part: a line break, half a surrogate pair. */
export function mayBeHeld(last: number): boolean {
  return last <= 13 /* CR */ || (last >= 0xd800 && last <= 0xdbff);
}

/** What is held leaves, because text follows that is no tag; the run counts as started. */
export function leave(run: Run): string {
  const { held } = run;
  run.held = '';
  if (run.started) return held;
  run.started = true;
  if (!run.fresh) return held;
  run.fresh = false;
  return held.startsWith('\r\n') ? held.slice(2) : held.startsWith('\n') ? held.slice(1) : held;
}

/** What still leaves at the run's end. With `closing`, the element ends here and its last line break is dropped. */
export function finish(run: Run, closing: boolean): string {
  const { held } = run;
  run.held = '';
  if (!run.started) return '';
  return closing && (held === '\n' || held === '\r\n') ? '' : held;
}

function tailLength(run: Run, text: string, last: number): number {
  if (last >= 0xd800) return 1;
  if (!run.speech) return 0;
  if (last === CR) return 1;
  if (last !== LF) return 0;
  return text.charCodeAt(text.length - 2) === CR ? 2 : 1;
}

function isBlank(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (!isSpace(text.charCodeAt(i))) return false;
  return true;
}
