import type { Json, JsonObject } from '../../lib/json.ts';
import { type ActionState, declaredIn, isReported, writtenId } from '../../log/action.ts';
import type { FieldError } from '../../log/session-events.ts';
import type { SessionState } from '../../log/state.ts';
import type { CallNames } from '../../parser/calls/call-names.ts';
import type { CallHead } from '../../parser/calls/call-parser.ts';
import { type CallDialect, createCallDialectParser } from '../../parser/dialect-parser.ts';
import type { ParserEvent } from '../../parser/intents.ts';
import { MAX_ERROR_SHOWN, MAX_NAME_SHOWN } from '../limits.ts';
import { fitted, RESULTS_PART } from '../part-limits.ts';
import type { PromptMessage } from '../prompt.ts';
import type { BlockStyle, Told } from '../render-block.ts';
import { endedOf, type ResultRoom, renderAnswer, renderResults, roomFor } from '../render-results.ts';
import { resultStatus } from '../show-result.ts';
import { clip } from '../text.ts';

type AnswerCallsAnswer = NonNullable<PromptMessage['answers']>[number];

/** The answers to the calls of a turn, and what is left for the block behind them to tell. */
export interface AnswerCallsAnswered {
  readonly answers: readonly AnswerCallsAnswer[];
  readonly told: Told;
  readonly room: ResultRoom;
}

interface Scene {
  readonly turn: number;
  readonly ended: ReadonlySet<string>;
  readonly actions: ReadonlyMap<string, ActionState>;
  readonly rejected: readonly FieldError[];
  /** Whether a final response of the turn did not count. */
  readonly undone: boolean;
  /** Whether it does not count yet. */
  readonly held: boolean;
  readonly style: BlockStyle;
  readonly room: ResultRoom;
  /** Whether results are left out of the prompt: a call still has to be answered. */
  readonly hidden: boolean;
  /** Ids of results and of running actions, and messages of faults, that answers have told. */
  readonly answered: Set<string>;
  readonly mistakes: Set<string>;
}

/**
 * What each call of turn `turn` brought, as far as it is known where the next turn begins: `told` is what that one is
 * told. Reads nothing that can still change, so that it reads the same whenever it is made.
 */
export function answerCalls(
  calls: readonly TurnCall[],
  turn: number,
  told: Told,
  actions: ReadonlyMap<string, ActionState>,
  style: BlockStyle,
  callStyle: CallStyle,
): AnswerCallsAnswered {
  return fitted(
    style,
    (chars) => answerWithin(chars, calls, turn, told, actions, style, callStyle),
    ({ answers }) => answers.map(({ text }) => text).join('\n'),
  );
}

function answerWithin(
  chars: number,
  calls: readonly TurnCall[],
  turn: number,
  told: Told,
  actions: ReadonlyMap<string, ActionState>,
  style: BlockStyle,
  { dialect }: CallStyle,
): AnswerCallsAnswered {
  const { news } = told;
  const scene: Scene = {
    turn,
    ended: new Set(news.results),
    actions,
    rejected: news.rejected,
    undone: news.faults.some(({ code }) => UNDONE_CODES.has(code)),
    held: news.held !== undefined,
    style,
    room: roomFor(endedOf(news.results, actions).length, chars),
    hidden: told.off?.includes(RESULTS_PART) === true,
    answered: new Set(),
    mistakes: new Set(),
  };
  const answer = dialect === 'tools' ? answerTool : answerStep;
  const answers = calls.map(({ id, name, events }) => ({ call: id, name, ...answer(events, scene) }));
  const { answered, mistakes, room } = scene;
  const isNews = (id: string) => !answered.has(id);
  return {
    answers,
    room,
    told: {
      ...told,
      running: told.running.filter(isNews),
      news: {
        ...news,
        results: news.results.filter(isNews),
        faults: news.faults.filter(({ message }) => !mistakes.has(message)),
      },
    },
  };
}

const UNDONE_CODES: ReadonlySet<string> = new Set(['final_undone', 'bad_output', 'step_open']);

interface AnswerCallsSaid {
  readonly text: string;
  readonly failed?: true;
}

const failed = (text: string): AnswerCallsSaid => ({ text, failed: true });
const OK: AnswerCallsSaid = { text: 'ok' };
const HELD: AnswerCallsSaid = { text: 'said, but it does not count yet: see below.' };
const UNDONE: AnswerCallsSaid = { text: 'said, but not taken as final: see the mistakes below.' };

function answerTool(events: readonly ParserEvent[], scene: Scene): AnswerCallsSaid {
  const fault = events.find((event) => event.type === 'fault');
  if (fault !== undefined) return failed(mistake(fault.message, scene));
  for (const event of events) {
    if (event.type === 'metadata') return answerMetadata(event.value, scene);
    if (event.type === 'action') return answerAction(event.id, scene);
  }
  if (!endsFinal(events)) return OK;
  return scene.undone ? UNDONE : scene.held ? HELD : OK;
}

/** Whether the response of a call was to be the last. */
function endsFinal(events: readonly ParserEvent[]): boolean {
  let final = false;
  for (const event of events) {
    if (event.type === 'open' && event.tag === 'response') final = event.final;
    else if (event.type === 'close' && event.final !== undefined) final = event.final;
  }
  return final;
}

function mistake(message: string, { mistakes }: Scene): string {
  mistakes.add(message);
  return clip(message, MAX_ERROR_SHOWN);
}

function answerAction(written: string, scene: Scene): AnswerCallsSaid {
  const { ended, answered, style, room } = scene;
  const state = actionOf(written, scene);
  if (state === undefined) return failed('It did not run: see the mistakes below.');
  if (!isReported(state.action)) return { text: 'started' };
  const { id } = state.action;
  answered.add(id);
  if (!ended.has(id)) return { text: running(state) };
  const status = resultStatus(state);
  const text = scene.hidden ? `${status}; results are not shown` : renderAnswer(state, style, room);
  return status === 'ok' ? { text } : failed(text);
}

/** An id that was given out may have become no action: its template was unknown, or the runtime was stopped. */
function actionOf(written: string, { actions, turn }: Scene): ActionState | undefined {
  return actions.get(declaredIn(actions, turn, written) ?? '');
}

const running = ({ action: { id } }: ActionState) =>
  `running; its result will come as <result id="${writtenId(id)}">`;

function answerMetadata(value: JsonObject, { rejected }: Scene): AnswerCallsSaid {
  const wrong = Object.keys(value).filter((name) =>
    rejected.some(({ field, sent }) => field === name && mayBe(sent, value[name] ?? null)),
  );
  if (wrong.length === 0) return OK;
  const names = wrong.map((field) => JSON.stringify(clip(field, MAX_NAME_SHOWN))).join(', ');
  return failed(`${clip(names, MAX_ERROR_SHOWN)} did not apply: see what was rejected below.`);
}

/** Whether an error that quotes `sent`, of a long value only its beginning, may be about `value`. */
function mayBe(sent: Json, value: Json): boolean {
  const quoted = typeof sent === 'string' && (typeof value !== 'string' || sent.endsWith('…'));
  return quoted || JSON.stringify(sent) === JSON.stringify(value);
}

/** All that a step brought, in one answer: its actions have their results as blocks, each with its id. */
function answerStep(events: readonly ParserEvent[], scene: Scene): AnswerCallsSaid {
  const ended: string[] = [];
  const parts: string[] = [];
  for (const event of events) {
    if (event.type === 'fault') parts.push(`- ${event.code}: ${mistake(event.message, scene)}`);
    else if (event.type === 'metadata') {
      const { text, failed: isWrong } = answerMetadata(event.value, scene);
      if (isWrong) parts.push(`- ${text}`);
    } else if (event.type === 'action') {
      const state = actionOf(event.id, scene);
      if (state === undefined) parts.push(`- ${event.id} did not run: see the mistakes below.`);
      else if (isReported(state.action)) {
        const { id } = state.action;
        scene.answered.add(id);
        if (scene.ended.has(id)) ended.push(id);
        else parts.push(`- ${event.id} is ${running(state)}`);
      }
    }
  }
  const results = scene.hidden ? [] : renderResults(ended, scene.actions, scene.style, scene.room);
  const text = [...results, ...parts].join('\n');
  return text === '' ? OK : { text };
}

/** A call of a turn, and what it meant. */
export interface TurnCall extends CallHead {
  readonly events: readonly ParserEvent[];
}

export interface TurnToRead {
  readonly output: string;
  /** The ids taken before the turn, as they were written; those of its actions are added. */
  readonly ids: Set<string>;
  /** Whether an id of this turn became an action. */
  readonly isAction: (id: string) => boolean;
}

/**
 * Reads a turn once more, to see what each of its calls became: given the ids that were taken before it, its own are
 * given out as they were then.
 */
export function readTurnCalls(
  { output, ids, isAction }: TurnToRead,
  { dialect, names, maxBody, led }: CallStyle,
): readonly TurnCall[] {
  const parser = createCallDialectParser(dialect, { max_body: maxBody, earlier: ids, names, led });
  const calls: TurnCall[] = [];
  let events: ParserEvent[] = [];
  for (let at = 0; at < output.length; ) {
    const { closed } = parser;
    at = parser.advance(output, at);
    events.push(...parser.take());
    if (parser.closed === closed) continue;
    calls.push({ ...parser.call, events: events.filter(({ type }) => type !== 'text') });
    events = [];
  }
  for (const id of parser.given) if (isAction(id)) ids.add(id);
  return calls;
}

/** How the native calls of an agent's turns are read. */
export interface CallStyle {
  readonly dialect: CallDialect;
  readonly names: CallNames;
  readonly maxBody: number;
  /** Whether a run leads the session: then `is_complete` ends a step of it. */
  readonly led: boolean;
  /** Ids that were given out before a turn. */
  readonly takenIds: (state: SessionState, beforeTurn: number) => Set<string>;
}
