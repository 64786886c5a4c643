import type { ParserEvent, Place } from '../intents.ts';
import { CR, isSpace, LF } from '../tags/names.ts';

/** The events of one push, and the run of prose they are written from. */
export interface ProseOutput {
  events: ParserEvent[];
  /** How many characters of the stream the events account for. */
  consumed: number;
  /** What prose belongs to. */
  place: Place;
  readonly run: OutputRun;
}

/** Stands for "none yet": `[event]` is a fifth of the size of an empty array that is pushed to. */
const NO_EVENTS: ParserEvent[] = [];

export function createOutput(): ProseOutput {
  return { events: NO_EVENTS, consumed: 0, place: 'outside', run: createRun() };
}

/** As it was before the first event. */
export function renewOutput(output: ProseOutput): void {
  output.events = NO_EVENTS;
  output.consumed = 0;
  newRun(output, 'outside', false);
}

/** The events since the last call. */
export function takeEvents(output: ProseOutput): ParserEvent[] {
  const { events } = output;
  if (events === NO_EVENTS) return [];
  output.events = NO_EVENTS;
  return events;
}

export function emit(output: ProseOutput, event: ParserEvent, at: number): void {
  output.consumed = at;
  if (output.events === NO_EVENTS) output.events = [event];
  else output.events.push(event);
}

/** The run gives events, and nothing is held before what comes next. */
export function holdsNothing({ run }: ProseOutput): boolean {
  return run.started && run.held === '';
}

export function textEvent(place: Place, text: string): ParserEvent {
  return place === 'outside' ? { type: 'text', text } : { type: 'delta', tag: place, text };
}

/** Prose that ends at offset `at` of the stream; what rule 2.2 lets us hold stays in the run. */
export function putText(output: ProseOutput, text: string, at: number): void {
  const out = put(output.run, text);
  if (out !== '') emitText(output, out, at - output.run.held.length);
}

/** No second half can follow: half a surrogate pair leaves alone. */
export function endPair(output: ProseOutput, at: number): void {
  const { run } = output;
  if (!run.started || run.held === '' || run.held.charCodeAt(0) < 0xd800) return;
  leaveHeld(output, at);
}

/** What the run holds leaves, because text follows. */
export function leaveHeld(output: ProseOutput, at: number): void {
  const out = leave(output.run);
  if (out !== '') emitText(output, out, at);
}

/** Ends the run before a tag that counts. With `closing`, the element it belongs to ends there. */
export function endRun(output: ProseOutput, closing: boolean, at: number): void {
  const text = finish(output.run, closing);
  if (text !== '') emitText(output, text, at);
}

export function newRun(output: ProseOutput, place: Place, fresh: boolean): void {
  output.place = place;
  startRun(output.run, place !== 'outside', fresh);
}

/** Joins text to the event before it where that is the same prose. */
function emitText(output: ProseOutput, text: string, at: number): void {
  const { events, place } = output;
  if (events !== NO_EVENTS) {
    const last = events[events.length - 1];
    if (last !== undefined && last.type === (place === 'outside' ? 'text' : 'delta')) {
      events[events.length - 1] = { ...last, text: last.text + text };
      output.consumed = at;
      return;
    }
  }
  emit(output, textEvent(place, text), at);
}

/**
 * The text from one tag that counts to the next. `put` says what of it may leave now; what rule 2.2 lets us hold
 * (white space at its start, in speech one line break that may be the last, half a surrogate pair) is `held`.
 */
export interface OutputRun {
  /** Something but white space has been seen: the run gives events. */
  started: boolean;
  /** Straight after the opening tag of a thought or response: its first line break is dropped. */
  fresh: boolean;
  /** In a thought or response. */
  speech: boolean;
  held: string;
}

function createRun(): OutputRun {
  return { started: false, fresh: false, speech: false, held: '' };
}

function startRun(run: OutputRun, speech: boolean, fresh: boolean): void {
  run.started = false;
  run.fresh = fresh;
  run.speech = speech;
  run.held = '';
}

/** Takes the next text (not empty) and returns what leaves, which may be nothing. */
function put(run: OutputRun, text: string): string {
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
function leave(run: OutputRun): string {
  const { held } = run;
  run.held = '';
  if (run.started) return held;
  run.started = true;
  if (!run.fresh) return held;
  run.fresh = false;
  return held.startsWith('\r\n') ? held.slice(2) : held.startsWith('\n') ? held.slice(1) : held;
}

/** What still leaves at the run's end. With `closing`, the element ends here and its last line break is dropped. */
function finish(run: OutputRun, closing: boolean): string {
  const { held } = run;
  run.held = '';
  if (!run.started) return '';
  return closing && (held === '\n' || held === '\r\n') ? '' : held;
}

function tailLength(run: OutputRun, text: string, last: number): number {
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
