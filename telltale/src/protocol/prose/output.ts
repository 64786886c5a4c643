import type { ParserEvent, Place } from '../intents.ts';
import { createRun, finish, leave, put, type Run, startRun } from './run.ts';

/** The events of one push, and the run of prose they are written from. */
export interface Output {
  events: ParserEvent[];
  /** How many characters of the stream the events account for. */
  consumed: number;
  /** What prose belongs to. */
  place: Place;
  readonly run: Run;
}

/** Stands for "none yet": `[event]` is a fifth of the size of an empty array that is pushed to. */
const NO_EVENTS: ParserEvent[] = [];

export function createOutput(): Output {
  return { events: NO_EVENTS, consumed: 0, place: 'outside', run: createRun() };
}

/** As it was before the first event. */
export function renewOutput(output: Output): void {
  output.events = NO_EVENTS;
  output.consumed = 0;
  newRun(output, 'outside', false);
}

/** The events since the last call. */
export function takeEvents(output: Output): ParserEvent[] {
  const { events } = output;
  if (events === NO_EVENTS) return [];
  output.events = NO_EVENTS;
  return events;
}

export function emit(output: Output, event: ParserEvent, at: number): void {
  output.consumed = at;
  if (output.events === NO_EVENTS) output.events = [event];
  else output.events.push(event);
}

/** The run gives events, and nothing is held before what comes next. */
export function holdsNothing({ run }: Output): boolean {
  return run.started && run.held === '';
}

export function textEvent(place: Place, text: string): ParserEvent {
  return place === 'outside' ? { type: 'text', text } : { type: 'delta', tag: place, text };
}

/** Prose that ends at offset `at` of the stream; what rule 2.2 lets us hold stays in the run. */
export function putText(output: Output, text: string, at: number): void {
  const out = put(output.run, text);
  if (out !== '') emitText(output, out, at - output.run.held.length);
}

/** No second half can follow: half a surrogate pair leaves alone. */
export function endPair(output: Output, at: number): void {
  const { run } = output;
  if (!run.started || run.held === '' || run.held.charCodeAt(0) < 0xd800) return;
  leaveHeld(output, at);
}

/** What the run holds leaves, because text follows. */
export function leaveHeld(output: Output, at: number): void {
  const out = leave(output.run);
  if (out !== '') emitText(output, out, at);
}

/** Ends the run before a tag that counts. With `closing`, the element it belongs to ends there. */
export function endRun(output: Output, closing: boolean, at: number): void {
  const text = finish(output.run, closing);
  if (text !== '') emitText(output, text, at);
}

export function newRun(output: Output, place: Place, fresh: boolean): void {
  output.place = place;
  startRun(output.run, place !== 'outside', fresh);
}

/** Joins text to the event before it where that is the same prose. */
function emitText(output: Output, text: string, at: number): void {
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
