import type { ErrorJson } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { feedText } from '../lib/text.ts';
import { type ActionState, type DeclaredAction, writtenId } from '../log/action.ts';
import type { MessageFrom } from '../log/event.ts';
import { FEED_LATE, type FeedNews } from '../log/feed-event.ts';
import { TURN_BROKEN_OFF } from '../log/fold-turns.ts';
import { BUILTIN_FEED } from '../log/fold-values.ts';
import type { GivenTask } from '../log/session-events.ts';
import type { News, TurnRecord, WorkflowNews } from '../log/turn-record.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { isId } from '../parser/envelope/ids.ts';
import type { ExposedVariable } from './exposed-variables.ts';
import {
  MAX_ERROR_SHOWN,
  MAX_FAULTS_SHOWN,
  MAX_IDS_LISTED,
  MAX_NAME_SHOWN,
  MAX_VARIABLE_SHOWN,
  MAX_WORKFLOWS_SHOWN,
} from './limits.ts';
import { type BuiltinPart, cutPart, type Fitting } from './part-limits.ts';
import { type IsFirst, type MetadataManifest, renderMetadata } from './render-metadata.ts';
import { isTold, type ResultRoom, type ResultStyle, renderResults } from './render-results.ts';
import { errorText } from './show-result.ts';
import { clip, type Escape, escapeAttribute, isOwnWords, OUTPUT_LIMIT } from './text.ts';

/** What a block is made from. The coming turn's record will hold the same, so that it can be made again. */
export type Told = Pick<TurnRecord, 'news' | 'running' | 'metadata' | 'variables' | 'off'>;

export interface BlockStyle extends ResultStyle, Fitting {
  readonly dialect: AgentManifest['dialect'];
  readonly metadata: MetadataManifest;
  readonly variables: readonly ExposedVariable[];
}

/** What a user block says where nothing happened: a message may not be empty. */
const NOTHING_NEW = 'Nothing new since your last turn. Go on, or end with a final response.';

/**
 * The one `user` message that a turn adds. It shows nothing that can still change, so that it reads the same whenever
 * it is made.
 */
export function renderBlock(
  told: Told,
  actions: ReadonlyMap<string, ActionState>,
  first: IsFirst,
  style: BlockStyle,
): string {
  const news = renderNews(told, actions, first, style);
  return news === '' ? NOTHING_NEW : news;
}

/** As a block, but empty where nothing happened. `room` is what other results of the turn have left. */
export function renderNews(
  { news, running, metadata, variables, off }: Told,
  actions: ReadonlyMap<string, ActionState>,
  first: IsFirst,
  style: BlockStyle,
  room?: ResultRoom,
): string {
  const isOff = (part: BuiltinPart) => off?.includes(`${BUILTIN_FEED}${part}`) === true;
  const { errors, values } = renderMetadata(
    { values: metadata, changed: news.changed, rejected: news.rejected, first },
    style.metadata,
    style.safe,
  );
  let block = '';
  if (news.results.length > 0 && !isOff('results'))
    for (const result of renderResults(news.results, actions, style, room)) block = below(block, result);
  block = below(block, renderFaults(news.faults, style));
  block = below(block, renderHeld(news.held, actions, style));
  block = below(block, errors);
  block = below(block, renderBreak(news.broken, style));
  if (!isOff('metadata')) block = below(block, cutPart('metadata', values, style));
  const told = { values: variables, changed: news.variables, first: first !== false };
  block = below(block, renderVariables(told, style.variables, style.safe));
  block = below(block, renderRunning(running, actions, style));
  if (news.workflows !== undefined && !isOff('news'))
    block = below(block, cutPart('news', renderWorkflows(news.workflows, style), style));
  if (news.feeds !== undefined) block = below(block, renderFeeds(news.feeds, style));
  if (news.task !== undefined) block = below(block, renderTask(news.task, style));
  return renderMessages(news.messages, block, style);
}

/** What people say stands last: it is what the model answers. */
function renderMessages(messages: News['messages'], before: string, style: BlockStyle): string {
  let block = before;
  for (const message of messages)
    if (!isFromPerson(message)) block = below(block, renderMessage(message, block, style));
  for (const message of messages)
    if (isFromPerson(message)) block = below(block, renderMessage(message, block, style));
  return block;
}

const isFromPerson = ({ from }: News['messages'][number]) =>
  from === 'user' || from === 'steer' || from === 'parent';

/** A part of a block, behind an empty line; most parts are empty, and take no room. */
const below = (block: string, part: string): string =>
  part === '' ? block : block === '' ? part : `${block}\n\n${part}`;

const FROM: Readonly<Record<MessageFrom, string>> = {
  user: '',
  steer: 'Message from the user, sent while you were at work:\n',
  parent: 'Message from the agent that called you:\n',
  workflow: 'Message from a workflow:\n',
  runtime: '',
  verifier: 'The step is not over yet:\n',
};

/** Whole, whatever its size: what a person says is never cut. */
function renderMessage(
  { from, text }: News['messages'][number],
  before: string,
  { safe }: BlockStyle,
): string {
  const whose = from === 'user' && before !== '' ? 'Message from the user:\n' : FROM[from];
  return whose + (from === 'runtime' ? text : safe(text));
}

function renderFaults(faults: News['faults'], { safe }: BlockStyle): string {
  if (faults.length === 0) return '';
  const times = new Map<string, number>();
  const kinds = new Map<string, string>();
  const isCut = faults.some(({ code }) => code === OUTPUT_LIMIT);
  for (const { code, message } of faults) {
    if (isCut && code === 'truncated') continue;
    const words = isOwnWords(code) ? message : safe(message);
    const line = `- ${code}: ${clip(words, MAX_ERROR_SHOWN)}`;
    times.set(line, (times.get(line) ?? 0) + 1);
    if (!kinds.has(code)) kinds.set(code, line);
  }
  // Where not all have room, one of each kind has: the last may say what became of the response.
  const byKind = new Set([...kinds.values(), ...times.keys()]);
  const shown = new Set([...byKind].slice(0, MAX_FAULTS_SHOWN));
  const lines = [...times]
    .filter(([line]) => shown.has(line))
    .map(([line, count]) => (count === 1 ? line : `${line} (${count} times)`));
  if (times.size > lines.length) lines.push(`- and ${times.size - lines.length} more`);
  return `Mistakes in your last turn:\n${lines.join('\n')}`;
}

/** How a final response that is held is confirmed. */
const CONFIRM: Readonly<Record<BlockStyle['dialect'], string>> = {
  tags: 'confirm it with an empty <response final="true"/>. Otherwise write another final response, or go on.',
  tools:
    'confirm it with a call of "respond" with "text": "" and "final": true. Otherwise give another final response, or go on.',
  step: 'confirm it with a step with "is_complete": true, "notes" and "response": "". Otherwise complete with another response, or go on.',
};

/** The model answered next to actions whose results it had not seen. */
function renderHeld(
  ids: readonly string[] | undefined,
  actions: ReadonlyMap<string, ActionState>,
  style: BlockStyle,
): string {
  if (ids === undefined) return '';
  return `Your final response does not count yet: you wrote it before you had seen what came of ${listOf(ids, actions, style)}. If it still holds, ${CONFIRM[style.dialect]}`;
}

/** What became of what was open where a turn broke off. */
const LEFT_OPEN: Readonly<Record<BlockStyle['dialect'], string>> = {
  tags: 'Tags that were open there are closed now: open them again. What stood in an <if>, <foreach> or <parallel> that you had not closed, and has no result and does not run, was not done',
  tools: 'A call that was not complete there was not made: make it again',
  step: 'What the step had not said whole there was not read: say it in a new step',
};

function notWhole(groups: readonly string[] = []): string {
  const named = groups.filter(isId).map((id) => `"${id}"`);
  return named.length === 0
    ? ''
    : `, and what depends on ${named.join(' or ')}, which was not closed, is skipped`;
}

function renderBreak(broken: News['broken'], { safe, dialect }: BlockStyle): string {
  if (broken === undefined) return '';
  if (broken.error.code === TURN_BROKEN_OFF)
    return `The user broke off your last turn after ${broken.at} characters. What you had written stands above; actions that had not ended by then were cancelled or never begun${notWhole(broken.groups)}. Answer what the user says now.`;
  const why = safe(clip(errorText(broken.error), MAX_ERROR_SHOWN));
  return broken.at === 0
    ? `Your last turn broke off before you had written anything (${why}). Begin again.`
    : `Your last turn broke off after ${broken.at} characters (${why}). What you had written stands above, and every action that was complete there has been taken up: go on from there, and repeat none of them. ${LEFT_OPEN[dialect]}${notWhole(broken.groups)}.`;
}

/** Workflows that what the agent declared had set off, and that say how they ended. */
function renderWorkflows(ended: readonly WorkflowNews[], { safe }: BlockStyle): string {
  if (ended.length === 0) return '';
  const lines = ended.slice(-MAX_WORKFLOWS_SHOWN).map(({ workflow, status, about }) => {
    const said = isErrorJson(about)
      ? errorText(about)
      : typeof about === 'string'
        ? about
        : JSON.stringify(about);
    return `- ${clip(workflow, MAX_NAME_SHOWN)} ${status}: ${clip(oneLine(said), MAX_ERROR_SHOWN)}`;
  });
  if (ended.length > lines.length) lines.unshift(`- and ${ended.length - lines.length} before these`);
  return safe(`Workflows in the background have ended:\n${lines.join('\n')}`);
}

/** What a workflow brings from outside cannot look like a line of the block, such as a message of the user. */
const oneLine = (text: string) => text.trim().replaceAll(/\s*[\r\n\u2028\u2029\v\f\u0085]\s*/g, ' ');

const isErrorJson = (about: WorkflowNews['about']): about is ErrorJson =>
  typeof about === 'object' &&
  about !== null &&
  'code' in about &&
  'message' in about &&
  'retryable' in about;

function renderRunning(
  ids: readonly string[],
  actions: ReadonlyMap<string, ActionState>,
  { safe }: BlockStyle,
): string {
  if (ids.length === 0) return '';
  const told = ids.flatMap((id) => {
    const state = actions.get(id);
    return state !== undefined && isTold(state) ? [state.action] : [];
  });
  if (told.length === 0) return '';
  return safe(`Not ended yet, results will follow: ${listed(told)}.`);
}

function listOf(
  ids: readonly string[],
  actions: ReadonlyMap<string, ActionState>,
  { safe }: BlockStyle,
): string {
  return safe(listed(ids.flatMap((id) => actions.get(id)?.action ?? [])));
}

function listed(named: readonly DeclaredAction[]): string {
  const items = named
    .slice(0, MAX_IDS_LISTED)
    .map(
      ({ id, kind, name }) =>
        `${clip(writtenId(id), MAX_NAME_SHOWN)} (${kind} ${clip(name, MAX_NAME_SHOWN)})`,
    );
  const more = named.length > items.length ? `, and ${named.length - items.length} more` : '';
  return `${items.join(', ')}${more}`;
}

/** What a block has to say of variables. */
export interface VariableNews {
  readonly values: JsonObject | undefined;
  readonly changed: readonly string[] | undefined;
  /** Nothing of the conversation stands before this block. */
  readonly first: boolean;
}

/** All of them with what they mean in the first block, then what changed; empty where there is nothing to say. */
function renderVariables(
  { values, changed, first }: VariableNews,
  exposed: readonly ExposedVariable[],
  safe: Escape,
): string {
  if (exposed.length === 0) return '';
  const shown = first ? exposed : exposed.filter(({ name }) => changed?.includes(name) === true);
  if (shown.length === 0) return '';
  const title = first ? 'Variables, current values:' : 'Variables that changed, with their new values:';
  const lines = shown.map(({ name, description }) => {
    const about =
      first && description !== undefined
        ? ` (${safe(clip(variableLine(description), MAX_ERROR_SHOWN))})`
        : '';
    return `- ${name}: ${shownValue(name, values, safe)}${about}`;
  });
  return `${title}\n${lines.join('\n')}`;
}

const variableLine = (text: string) => text.trim().replaceAll(/\s+/g, ' ');

/** On one line, whatever it holds: nothing in a value can look like a line of the block. */
function shownValue(name: string, values: JsonObject | undefined, safe: Escape): string {
  const value: Json = values !== undefined && Object.hasOwn(values, name) ? (values[name] as Json) : null;
  return safe(clip(JSON.stringify(value), MAX_VARIABLE_SHOWN));
}

/** Feeds that have something new, each in a tag of its own. What a source gives cannot close it. */
export function renderFeeds(feeds: readonly FeedNews[], { safe }: { readonly safe: Escape }): string {
  return feeds.map((news) => renderFeed(news, safe)).join('\n\n');
}

function renderFeed(news: FeedNews, safe: Escape): string {
  const id = `id="${escapeAttribute(clip(news.id, MAX_NAME_SHOWN))}"`;
  const age = news.ageMs === undefined || news.ageMs < SHOWN_FROM_MS ? '' : ` age="${ageText(news.ageMs)}"`;
  if (news.kind === 'value') {
    const more =
      news.truncated === undefined ? '' : `\n[… about ${news.truncated} tokens more are left out …]`;
    return `<context_feed ${id}${age}>\n${safe(feedText(news.value))}${more}\n</context_feed>`;
  }
  const why = safe(clip(errorText(news.error), MAX_ERROR_SHOWN));
  if (news.error.code === FEED_LATE) return `<context_feed ${id} status="late">${why}</context_feed>`;
  return news.ageMs === undefined
    ? `<context_feed ${id} status="failed">${why}</context_feed>`
    : `<context_feed ${id} status="stale"${age}>What was shown of it last still stands, but could not be renewed: ${why}</context_feed>`;
}

/** Anything younger is of this moment. */
const SHOWN_FROM_MS = 1_000;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** One unit says enough: `12s`, `3m`, `2h`, `4d`. */
function ageText(ageMs: number): string {
  const seconds = Math.round(ageMs / 1000);
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 2 * HOUR) return `${Math.round(seconds / MINUTE)}m`;
  if (seconds < 2 * DAY) return `${Math.round(seconds / HOUR)}h`;
  return `${Math.round(seconds / DAY)}d`;
}

export interface TaskStyle {
  readonly safe: Escape;
  readonly dialect: AgentManifest['dialect'];
}

const ENDS: Readonly<Record<TaskStyle['dialect'], string>> = {
  tags: 'End it with the internal action complete_step',
  tools: 'End it with a call of "complete_step"',
  step: 'End it with "is_complete": true',
};

/** The step in hand: what to do, and what has to come with its end. Nothing of what comes before or after it. */
export function renderTask(
  { prompt, requires, accepts, evidence }: GivenTask,
  { safe, dialect }: TaskStyle,
): string {
  const asked = [
    `${ENDS[dialect]} and "notes" of at least 50 characters.`,
    ...(requires === undefined ? [] : [`"context_updates" must have: ${keysText(requires)}.`]),
    ...(accepts === undefined ? [] : [`"context_updates" may have: ${keysText(accepts)}.`]),
    ...(evidence === undefined
      ? []
      : [
          `"evidence" must name, by id, an action of this step that succeeded, for each of: ${evidence.join(', ')}.`,
        ]),
  ];
  return `The step in hand:\n${safe(prompt)}\n\n${safe(asked.join(' '))}`;
}

const keysText = (keys: NonNullable<GivenTask['requires']>): string =>
  Object.entries(keys)
    .map(([key, schema]) => `"${key}" (${JSON.stringify(schema)})`)
    .join(', ');
