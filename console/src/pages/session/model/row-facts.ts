import { visibleText } from '../../../../../telltale/src/lib/text.ts';
import type { ActionStatus } from '../../../../../telltale/src/log/action.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { formatCost, plural } from '../../../format/format-number.ts';
import { type Moment, type Phase, type PhaseKind, phasesAt, statusAt } from './action-phases.ts';
import { brief } from './brief-value.ts';
import type { ActionRow, RunRow, TurnRow, WaterfallRow } from './waterfall-rows.ts';

/** A row in words, for its tooltip and for screen readers. */
export interface RowFacts {
  readonly title: string;
  readonly about: string;
  readonly status: ActionStatus;
  readonly lines: readonly (readonly [what: string, value: string])[];
}

const PHASE_WORDS: Readonly<Record<PhaseKind, string>> = {
  dependency: 'Waited for other actions',
  queue: 'Waited for a free slot',
  review: 'Waited for a person',
  run: 'Ran',
  retry: 'Paused before the next try',
};

export interface FactSources {
  readonly moment: Moment;
  /** When the session started. Times are relative to it. */
  readonly start: number;
  readonly actionOf: (id: string) => ActionRow | undefined;
}

export function rowFacts(row: WaterfallRow, sources: FactSources): RowFacts {
  switch (row.kind) {
    case 'turn':
      return turnFacts(row, sources);
    case 'action':
      return actionFacts(row, sources);
    case 'run':
      return runFacts(row, sources);
  }
}

const since = (at: number, start: number): string => `+${formatDuration(at - start)}`;

const TURN_STATUS: Readonly<Record<string, ActionStatus>> = { failed: 'failed', interrupted: 'interrupted' };

function turnFacts(row: TurnRow, { moment, start }: FactSources): RowFacts {
  const end = row.end !== undefined && row.end.seq <= moment.seq ? row.end : undefined;
  const spoke = (end?.spokeUntil ?? moment.at) - row.at;
  const held = end === undefined ? 0 : end.at - end.spokeUntil;
  const counted = row.tags.filter(({ seq }) => seq <= moment.seq);
  const count = (kind: string) => counted.filter((tag) => tag.kind === kind).length;
  const tags = [
    [plural(count('action'), 'action'), count('action')],
    [plural(count('thought'), 'thought'), count('thought')],
    [plural(count('metadata'), 'metadata change'), count('metadata')],
    [plural(count('response'), 'response'), count('response')],
  ] as const;
  const lines: [string, string][] = [
    ['Began', since(row.at, start)],
    ['Spoke', formatDuration(spoke)],
  ];
  if (end?.firstTokenMs !== undefined) lines.push(['First token', formatDuration(end.firstTokenMs)]);
  if (held > 1) lines.push(['Then held', formatDuration(held)]);
  lines.push([
    'Said',
    tags
      .filter(([, many]) => many > 0)
      .map(([text]) => text)
      .join(', ') || 'nothing yet',
  ]);
  lines.push(['Prompt', plural(row.tokens, 'token')]);
  if (end?.usage !== undefined) lines.push(['Answer', plural(end.usage.output, 'token')]);
  if (end?.cost !== undefined && end.cost > 0) lines.push(['Cost', formatCost(end.cost)]);
  if (end?.error !== undefined) lines.push(['Because', end.error.message]);
  const status = end === undefined ? 'running' : (TURN_STATUS[end.finish] ?? 'completed');
  return { title: `Turn ${row.turn}`, about: 'the model’s stream', status, lines };
}

function actionFacts(row: ActionRow, { moment, start, actionOf }: FactSources): RowFacts {
  const { action, needs } = row;
  const lines: [string, string][] = [['Declared', since(row.at, start)]];
  for (const phase of phasesAt(row, moment, actionOf)) lines.push(phaseLine(phase, row));
  if (needs.length > 0) lines.push(['Needs', needs.join(', ')]);
  const end = row.end !== undefined && row.end.seq <= moment.seq ? row.end : undefined;
  const input = row.attempts.at(-1)?.input ?? action.parameters;
  if (Object.keys(input).length > 0) lines.push(['With', visibleText(brief(input, 140))]);
  if (end?.error !== undefined) lines.push(['Error', end.error.message]);
  if (end?.reason !== undefined) lines.push(['Because', end.reason]);
  if (end?.output !== undefined) lines.push(['Result', brief(end.output, 140)]);
  const kind = action.kind === 'tool' ? '' : `${action.kind}, `;
  return {
    title: action.name,
    status: statusAt(row, moment),
    lines,
    about: `${kind}${action.id}${action.mode === 'async' ? '' : `, ${action.mode.replaceAll('_', ' ')}`}`,
  };
}

function phaseLine(phase: Phase, { attempts }: ActionRow): [string, string] {
  const nth =
    phase.kind === 'run' && attempts.length > 1 ? `Try ${phase.attempt ?? 1}` : PHASE_WORDS[phase.kind];
  const how = phase.open ? ' so far' : phase.failed === true ? ', failed' : '';
  return [nth, `${formatDuration(phase.to - phase.from)}${how}`];
}

function runFacts(row: RunRow, { moment, start }: FactSources): RowFacts {
  const end = row.end !== undefined && row.end.seq <= moment.seq ? row.end : undefined;
  const lines: [string, string][] = [
    ['Triggered', since(row.at, start)],
    ['Took', `${formatDuration((end?.at ?? moment.at) - row.at)}${end === undefined ? ' so far' : ''}`],
    ['Trigger', row.trigger],
  ];
  if (end?.error !== undefined) lines.push(['Error', end.error.message]);
  if (end?.reason !== undefined) lines.push(['Because', end.reason]);
  if (end?.output !== undefined && end.output !== null) lines.push(['Result', brief(end.output, 140)]);
  return { title: row.workflow, about: `workflow, ${row.run}`, status: end?.status ?? 'running', lines };
}

/** All of it as one text. */
export const factsText = ({ title, about, status, lines }: RowFacts): string =>
  `${title}, ${about}, ${status}. ${lines.map(([what, value]) => `${what}: ${value}`).join('. ')}.`;
