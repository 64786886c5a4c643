import type { ObservedEvent } from '../../events/event.ts';
import { speakerOf } from '../../events/fold-handoffs.ts';
import type { RunEvent } from '../../events/run-event.ts';
import type { Palette } from '../../manifest/palette.ts';
import { printable } from '../../manifest/printable.ts';
import { actionLines } from './action-line.ts';
import { type ActionView, createActionLog, isOver } from './action-log.ts';
import { brief } from './brief.ts';
import { createChangingLines } from './changing-lines.ts';
import { clip, tail } from './columns.ts';
import type { Debug } from './debug.ts';
import { createLeadLines } from './lead-lines.ts';
import { noteLine } from './note-line.ts';
import { toFixRows } from './root-cause.ts';
import { runNote } from './run-note.ts';
import { createRunProgress } from './run-progress.ts';
import { createSpeech, type Row, type Voice } from './speech.ts';

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** What a terminal shows of a run: lines that will not change any more, and below them those that still may. */
export interface Frame {
  readonly done: readonly string[];
  readonly live: readonly string[];
}

/** Folds events into lines. Pure but for its own memory: time and size are given. */
export interface LiveScreen {
  show(event: ObservedEvent): void;
  /** Takes in an event that was shown before, elsewhere: it gets no line, but what follows may be about it. */
  recall(event: ObservedEvent): void;
  /** Takes in an event of a workflow run that the session set off. */
  note(event: RunEvent): void;
  /** Takes in an event of the run that leads the session. */
  lead(event: RunEvent): void;
  /** The lines as of now. Each line is `done` once, in one frame. */
  frame(now: number): Frame;
  /** A line for the person at the terminal. */
  tell(text: string): void;
  /** The line that a person types: see `RunView`. */
  typed(draft: string | undefined, isWaited: boolean): void;
  /** All that is left, for good. */
  finish(now: number): readonly string[];
}

export interface LiveScreenOptions {
  readonly paint: Palette;
  readonly size: () => ScreenSize;
  /** In place of the moving line at the bottom. */
  readonly status?: () => string | undefined;
  readonly debug?: Debug;
  /** The command that shows the result of an action, or of a step, whole, where there is one. */
  readonly whole?: (stream: string, action: string) => string | undefined;
}

const MARGIN = '  ';
/** Deeper thoughts are no further to the right. */
const MAX_INDENT = 4;
/** A terminal of ten columns still gets rows to write on. */
const MIN_COLUMNS = 10;
/** A terminal writes ^C behind the last line: were that to wrap, the next frame would begin one row too low. */
const ECHO = 2;
/** Lines that may still change, at the most: a screen that is redrawn whole flickers. */
const MAX_LIVE = 20;

/** What a workflow does, or a person types, comes at any time: it stands above the row that is being spoken. */
const isBeside = (event: ObservedEvent): boolean =>
  event.type === 'custom' ||
  event.type.startsWith('workflow.') ||
  (event.type === 'message.received' && event.from === 'steer');

export function createLiveScreen({ paint, size, status, debug = {}, whole }: LiveScreenOptions): LiveScreen {
  const actions = createActionLog();
  const speech = createSpeech({ paint, colour: paint.bold('x') !== 'x' });
  const streamed = { thoughts: new Set<number>(), response: 0 };
  const progress = createRunProgress();
  const leadLines = createLeadLines(paint);

  let session = '';
  let draft: string | undefined;
  let isWaited = false;
  const draftLine = (): readonly string[] => {
    if (draft === undefined || draft === '') return [];
    return [`${paint.cyan('›')} ${tail(printable(draft), width() - 2 - ECHO)}`];
  };
  const hint = (): readonly string[] =>
    draft === undefined
      ? []
      : [isWaited ? 'a question waits: send or clear your line first' : 'type to steer'];

  const width = () => Math.max(MIN_COLUMNS, size().columns - 1);
  const rowLine = ({ voice, depth, text }: Row): string => {
    if (text === '') return '';
    const indent = MARGIN.repeat(1 + Math.min(depth, MAX_INDENT));
    return indent + (voice === 'thought' ? paint.dim(text) : text);
  };
  const lines = createChangingLines<ActionView>(isOver, (action, now) => actionText(action, now));
  const push = (rows: readonly Row[]) => {
    for (const row of rows) lines.line(rowLine(row));
  };
  const say = (voice: Voice, depth: number, text: string) => {
    const indent = MARGIN.length * (1 + Math.min(depth, MAX_INDENT));
    push(speech.add(voice, depth, text, Math.max(1, width() - indent)));
  };
  const setApart = () => {
    push(speech.close());
    lines.line('');
  };
  /** Of actions that are over: a long result is laid out once. */
  const laidOut = new WeakMap<ActionView, { readonly columns: number; readonly lines: readonly string[] }>();
  const actionText = (view: ActionView, now: number): readonly string[] => {
    const columns = width();
    const known = laidOut.get(view);
    if (known?.columns === columns) return known.lines;
    const lines = freshText(view, now);
    if (isOver(view)) laidOut.set(view, { columns, lines });
    return lines;
  };
  const freshText = (view: ActionView, now: number) =>
    actionLines(view, width() - MARGIN.length, now, paint, whole?.(session, view.action.id)).map(
      (line) => MARGIN + line,
    );

  const showAction = (event: ObservedEvent): boolean => {
    if (!event.type.startsWith('action.')) return false;
    const action = actions.take(event);
    if (action === undefined) return event.type !== 'action.compensated';
    if (event.type === 'action.declared' || (isOver(action) && lines.attach(action))) {
      push(speech.close());
      lines.thing(action);
    }
    if (event.type === 'action.failed')
      for (const row of toFixRows(event.error, width() - 2 * MARGIN.length))
        lines.line(MARGIN + MARGIN + paint.red(row));
    return true;
  };

  /** Elements of which pieces have been shown are only ended by the event that holds the whole. */
  const showSpeech = (event: ObservedEvent): boolean => {
    switch (event.type) {
      case 'thought.delta':
        streamed.thoughts.add(event.depth);
        say('thought', event.depth, event.text);
        return true;
      case 'response.delta':
        if (streamed.response === 0) setApart();
        streamed.response += event.text.length;
        say('response', 0, event.text);
        return true;
      case 'thought':
        if (!streamed.thoughts.delete(event.depth)) say('thought', event.depth, event.text);
        push(speech.close());
        return true;
      case 'response':
        if (streamed.response === 0) {
          setApart();
          say('response', 0, event.text);
        }
        streamed.response = Math.max(0, streamed.response - event.text.length);
        push(speech.close());
        return true;
      case 'child.response':
      case 'child.thought': {
        const speaker = speakerOf(event.action);
        if (speaker === undefined) return false;
        push(speech.close());
        if (event.type === 'child.thought') say('thought', event.event.depth, event.event.text);
        else {
          setApart();
          lines.line(MARGIN + paint.cyan(brief(speaker, width() - MARGIN.length)));
          say('response', 0, event.event.text);
        }
        push(speech.close());
        return true;
      }
      case 'text':
        say('text', 0, event.text);
        push(speech.close());
        return true;
    }
    return false;
  };

  const follow = (event: ObservedEvent) => {
    session = event.session;
    progress.follow(event);
    leadLines.follow(event);
    if (event.type !== 'turn.started') return;
    streamed.thoughts.clear();
    streamed.response = 0;
  };

  return {
    show(event) {
      follow(event);
      if (showAction(event) || showSpeech(event)) return;
      const line = noteLine(event, width() - MARGIN.length, paint, debug);
      if (line === undefined) return;
      if (!isBeside(event)) push(speech.close());
      lines.line(MARGIN + line);
    },
    note(event) {
      const line = runNote(event, width() - MARGIN.length, paint, debug);
      if (line !== undefined) lines.line(MARGIN + line);
    },
    lead(event) {
      const line = leadLines.take(event, width() - MARGIN.length);
      if (line !== undefined) lines.line(MARGIN + line);
    },
    tell(text) {
      for (const line of text.split('\n'))
        lines.line(MARGIN + paint.dim(clip(printable(line), width() - MARGIN.length)));
    },
    typed(text, waited) {
      draft = text;
      isWaited = waited;
    },
    recall(event) {
      follow(event);
      const action = actions.take(event);
      if (action === undefined) return;
      if (isOver(action)) lines.attach(action);
      else lines.detach(action);
    },
    frame(now) {
      // The row that is being written and the lines at the bottom are live, too.
      const open = speech.open().map(rowLine);
      const most = Math.max(1, Math.min(MAX_LIVE, size().rows - 1) - 1 - open.length - draftLine().length);
      const done = lines.take(now, most);
      const live = [...lines.live(now)];
      live.push(...open);
      live.push(
        status?.() ??
          paint.dim(
            clip(progress.line(now, actions.running().length, leadLines.running(), hint()), width() - ECHO),
          ),
        ...draftLine(),
      );
      return { done, live };
    },
    finish(now) {
      push(speech.close());
      return lines.take(now, 0);
    },
  };
}
