import type { ObservedEvent } from '../../log/event.ts';
import { speakerEventOf } from '../../log/fold-handoffs.ts';
import type { RunEvent } from '../../log/run-event.ts';
import { printable } from '../../manifest/diagnostic.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import { actionLines } from './action-line.ts';
import { type ActionView, createActionLog, isOver } from './action-log.ts';
import { createChangingLines } from './changing-lines.ts';
import type { Debug } from './describe-event.ts';
import { harmlessLines, spelledOutLine } from './harmless.ts';
import { jsonRows } from './json-text.ts';
import { createMarkdown, type MarkdownOptions } from './markdown.ts';
import { answerText, noteLine } from './note-line.ts';
import { toFixRows } from './root-cause.ts';
import { runNote } from './run-note.ts';
import { createRunProgress } from './run-progress.ts';
import { createStepLog, stepLine } from './step-log.ts';
import { brief, clip, tail, wrap } from './text-width.ts';

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** What a terminal shows of a run: lines that no longer change, and below them those that may. */
export interface Frame {
  readonly done: readonly string[];
  readonly live: readonly string[];
}

/** Folds events into lines. It reads no clock and no terminal: time and size are parameters. */
export interface LiveScreen {
  show(event: ObservedEvent): void;
  /** Takes in an event that was shown before, elsewhere. It gets no line, but later events may refer to it. */
  recall(event: ObservedEvent): void;
  /** Takes in an event of a workflow run that the session started. */
  addRunEvent(event: RunEvent): void;
  /** Takes in an event of the run that guides the session. */
  addGuidingRunEvent(event: RunEvent): void;
  /** The lines as of `now`. Each line appears in `done` once. */
  frame(now: number): Frame;
  /** Adds a line for the person at the terminal. */
  addLine(text: string): void;
  /** The line that a person is typing: see `RunView`. */
  typed(draft: string | undefined, isWaited: boolean): void;
  /** All remaining lines. Nothing changes afterwards. */
  finish(now: number): readonly string[];
}

export interface LiveScreenOptions {
  readonly paint: Palette;
  readonly size: () => ScreenSize;
  /** Replaces the status line at the bottom. */
  readonly status?: () => string | undefined;
  readonly debug?: Debug;
  /** Whether this terminal asks what waits for a person: then no line says that something waits. */
  readonly asks?: boolean;
  /** The command that shows the whole result of an action or a step, if there is one. */
  readonly whole?: (stream: string, action: string) => string | undefined;
}

const MARGIN = '  ';
/** Deeper thoughts are not indented further. */
const MAX_INDENT = 4;
/** The minimum width of text, however narrow the terminal is. */
const MIN_COLUMNS = 10;
/** A terminal prints ^C after the last line. If that wrapped, the next frame would start one row too low. */
const ECHO = 2;
/** How many lines may still change. A screen that is redrawn as a whole flickers. */
const MAX_LIVE = 20;

/** Workflow events and typed lines come at any time. They are shown above the row that is being written. */
const isAside = (event: ObservedEvent): boolean =>
  event.type === 'custom' ||
  event.type.startsWith('workflow.') ||
  (event.type === 'message.received' && event.from === 'steer');

const SPEECH: ReadonlySet<ObservedEvent['type']> = new Set([
  'thought.delta',
  'response.delta',
  'thought',
  'response',
  'text',
]);

export function createLiveScreen({
  paint,
  size,
  status,
  debug = {},
  asks = false,
  whole,
}: LiveScreenOptions): LiveScreen {
  const actions = createActionLog();
  const speech = createSpeech({ paint, color: paint.bold('x') !== 'x' });
  const streamed = { thoughts: new Set<number>(), response: 0 };
  let speaker: string | undefined;
  const progress = createRunProgress();
  const leadLines = createGuidingRunLines(paint);
  /** What was asked, for approvals that were given for the session and are used without a question. */
  const asked = new Map<string, string>();
  const reviewLine = (event: ObservedEvent): string | undefined => {
    if (event.type === 'review.requested') asked.set(event.review, event.what);
    if (event.type !== 'review.resolved' || event.answer === 'withdrawn') return undefined;
    const what = event.standing === undefined ? '' : `: ${spelledOutLine(asked.get(event.review) ?? '')}`;
    return paint.dim(clip(`${answerText(event)}${what}`, width() - MARGIN.length));
  };

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
  const rowLine = ({ voice, depth, text }: SpeechRow): string => {
    if (text === '') return '';
    const indent = MARGIN.repeat(1 + Math.min(depth, MAX_INDENT));
    return indent + (voice === 'thought' ? paint.dim(text) : text);
  };
  const lines = createChangingLines<ActionView>(isOver, (action, now) => actionText(action, now));
  const push = (rows: readonly SpeechRow[]) => {
    for (const row of rows) lines.line(rowLine(row));
  };
  const say = (voice: Voice, depth: number, text: string) => {
    const indent = MARGIN.length * (1 + Math.min(depth, MAX_INDENT));
    push(speech.add(voice, depth, text, Math.max(1, width() - indent)));
  };
  const beginResponse = () => {
    push(speech.close());
    lines.line('');
    if (speaker !== undefined) lines.line(MARGIN + paint.cyan(brief(speaker, width() - MARGIN.length)));
  };
  /** The laid-out lines of finished actions, because laying out a long result takes time. */
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

  /** If parts of an element were already shown, the event with the whole text only ends it. */
  const showSpeech = (given: ObservedEvent): boolean => {
    const of = speakerEventOf(given);
    const event = of?.event ?? given;
    if (!SPEECH.has(event.type)) return false;
    speaker = of?.speaker ?? ('speaker' in given ? given.speaker : undefined);
    switch (event.type) {
      case 'thought.delta':
        streamed.thoughts.add(event.depth);
        say('thought', event.depth, event.text);
        return true;
      case 'response.delta':
        if (streamed.response === 0) beginResponse();
        streamed.response += event.text.length;
        say('response', 0, event.text);
        return true;
      case 'thought':
        if (!streamed.thoughts.delete(event.depth)) say('thought', event.depth, event.text);
        push(speech.close());
        return true;
      case 'response':
        if (streamed.response === 0) {
          beginResponse();
          say('response', 0, event.text);
        }
        streamed.response = Math.max(0, streamed.response - event.text.length);
        push(speech.close());
        return true;
      case 'text':
        say('text', 0, event.text);
        push(speech.close());
        return true;
    }
    return false;
  };

  const follow = (event: ObservedEvent) => {
    session = event.session;
    const own = speakerEventOf(event)?.event ?? event;
    progress.follow(own);
    leadLines.follow(event);
    if (own.type !== 'turn.started') return;
    streamed.thoughts.clear();
    streamed.response = 0;
  };

  return {
    show(event) {
      follow(event);
      if (showAction(event) || showSpeech(event)) return;
      const line =
        asks && (event.type === 'review.requested' || event.type === 'review.resolved')
          ? reviewLine(event)
          : noteLine(event, width() - MARGIN.length, paint, debug);
      if (line === undefined) return;
      if (!isAside(event)) push(speech.close());
      lines.line(MARGIN + line);
    },
    addRunEvent(event) {
      if (asks && event.type === 'review.requested') return;
      const line = runNote(event, width() - MARGIN.length, paint, debug);
      if (line !== undefined) lines.line(MARGIN + line);
    },
    addGuidingRunEvent(event) {
      if (asks && event.type === 'review.requested') return;
      const line = leadLines.take(event, width() - MARGIN.length);
      if (line !== undefined) lines.line(MARGIN + line);
    },
    addLine(text) {
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
      // The row that is being written and the lines at the bottom change too.
      const room = Math.max(2, Math.min(MAX_LIVE, size().rows - 1) - 1 - draftLine().length);
      // On a low terminal only the end of the row fits. The whole row is shown when it is complete.
      const open = speech
        .open()
        .slice(1 - room)
        .map(rowLine);
      const most = Math.max(1, room - open.length);
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

/** The part of the guiding run that a live view shows: steps that no agent works on. */
export interface GuidingRunLines {
  /** The line for an event of the run. Undefined if it has none. */
  take(event: RunEvent, columns: number): string | undefined;
  /** Takes in an event of the session, which tells which steps are the agent's. */
  follow(event: ObservedEvent): void;
  /** The run's own steps that are running. */
  running(): readonly string[];
}

function createGuidingRunLines(paint: Palette): GuidingRunLines {
  const steps = createStepLog();
  const given = new Set<string>();
  return {
    take(event, columns) {
      const step = steps.take(event);
      if (step === undefined) return runNote(event, columns, paint);
      const isTask = event.type === 'step.completed' && event.notes !== undefined;
      if (event.type === 'step.started' || isTask) return undefined;
      return stepLine(step.view, columns, event.at, paint);
    },
    follow(event) {
      // A task's key is `RUN:ADDRESS#ATTEMPT`.
      if (event.type === 'task.given') given.add(event.task.replace(/^[^:]*:/, '').replace(/#\d+$/, ''));
    },
    running: () =>
      steps
        .running()
        .map(({ step }) => step)
        .filter((step) => !given.has(step)),
  };
}

/** Who speaks. Each voice has its own color. */
export type Voice = 'thought' | 'response' | 'text';

export interface SpeechRow {
  readonly voice: Voice;
  readonly depth: number;
  readonly text: string;
}

/** Splits streamed text into terminal rows. Thoughts and answers are Markdown; an answer may be JSON. */
export interface Speech {
  /** Adds text and returns the rows that no longer change. */
  add(voice: Voice, depth: number, text: string, columns: number): readonly SpeechRow[];
  /** The rows that still change. */
  open(): readonly SpeechRow[];
  /** Ends the open rows. */
  close(): readonly SpeechRow[];
}

/** How many rows of one line may still change. Beyond that, full rows are done. */
const MAX_OPEN = 8;
/** How many rows of a JSON answer are shown, also while it is being written. */
const MAX_JSON = 40;
const MAX_OPEN_JSON = 3;

/** Begins like JSON, or may. `[text](address)` does not. */
const MAY_BE_JSON = /^[{[]\s*$|^\{\s*"|^\[\s*(?:[[{"\d\]-]|true\b|false\b|null\b)/;

function createSpeech(options: MarkdownOptions): Speech {
  const markdown = createMarkdown(options);
  let open: { readonly voice: Voice; readonly depth: number; text: string; columns: number } | undefined;
  /** Whether the next text begins a new element, so that its leading blanks are dropped. */
  let isFresh = true;
  /** Whether the open text may be JSON, which is shown when it is complete. */
  let isJson = false;

  const rowsOf = (texts: readonly string[]): readonly SpeechRow[] => {
    const { voice = 'text', depth = 0 } = open ?? {};
    return texts.map((text) => ({ voice, depth, text }));
  };
  /** Takes complete lines and the beginning of the next one. */
  const take = (text: string): readonly string[] => {
    if (open === undefined) return [];
    const { columns } = open;
    const lines = [...harmlessLines(open.text + text)];
    open.text = lines.pop() ?? '';
    const rows = lines.flatMap((line) => markdown.line(line, columns));
    if (open.text.length <= columns || markdown.open(open.text, columns).length <= MAX_OPEN) return rows;
    const cut = markdown.cut(open.text, columns);
    open.text = cut.rest;
    return [...rows, ...cut.rows];
  };
  /** Takes long text word by word, so that the result does not depend on the chunks. */
  const takeAll = (text: string): readonly string[] => {
    const { length } = text;
    if (open === undefined || open.text.length + length <= open.columns * MAX_OPEN) return take(text);
    return text.split(/(?<=[ \n])/).flatMap(take);
  };

  const close = (): readonly SpeechRow[] => {
    if (open === undefined) {
      isFresh = true;
      return [];
    }
    const { text, columns } = open;
    let texts: readonly string[];
    if (isJson) {
      const json = jsonRows(parsed(text), columns, MAX_JSON, options);
      isJson = false;
      open.text = '';
      texts = json ?? [...takeAll(text), ...ended()];
    } else texts = ended();
    const rows = rowsOf(texts);
    open = undefined;
    isFresh = true;
    return rows;
  };
  const ended = (): readonly string[] => {
    if (open === undefined) return [];
    const { text, columns } = open;
    const rows = text.trim() === '' ? [] : markdown.line(text, columns);
    return [...rows, ...markdown.end(columns)];
  };

  return {
    add(voice, depth, text, columns) {
      const rows: SpeechRow[] =
        open !== undefined && (open.voice !== voice || open.depth !== depth) ? [...close()] : [];
      const fresh = isFresh ? text.trimStart() : text;
      if (fresh === '' && open === undefined) return rows;
      if (isFresh) isJson = voice === 'response';
      isFresh = false;
      open ??= { voice, depth, text: '', columns };
      open.columns = columns;
      if (isJson) {
        open.text += fresh;
        if (MAY_BE_JSON.test(open.text)) return rows;
        isJson = false;
        const held = open.text;
        open.text = '';
        return [...rows, ...rowsOf(takeAll(held))];
      }
      return [...rows, ...rowsOf(takeAll(fresh))];
    },
    open() {
      if (open === undefined) return [];
      const { text, columns } = open;
      if (!isJson) return rowsOf(markdown.open(text, columns));
      const rows = harmlessLines(text.slice(-columns * MAX_OPEN_JSON)).flatMap((line) => wrap(line, columns));
      return rowsOf(rows.slice(-MAX_OPEN_JSON));
    },
    close,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // It only looked like JSON.
  }
}
