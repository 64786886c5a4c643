import { identityText } from '../../lib/ids.ts';
import type { Json } from '../../lib/json.ts';
import type { ObservedEvent } from '../../log/event.ts';
import { TURN_BROKEN_OFF, TURN_CUT_SHORT } from '../../log/fold-turns.ts';
import { LLM_USAGE } from '../../log/reduce.ts';
import { displayWidth, type Palette } from '../../manifest/format-diagnostic.ts';
import { type Output, paletteFor } from '../io.ts';
import { changesText, type Debug, describeEvent, errorText, seenText } from './describe-event.ts';
import { harmlessLine, harmlessLines, spelledOutLine } from './harmless.ts';
import { jsonOnOneLine, jsonRows, jsonText } from './json-text.ts';
import { createMarkdown } from './markdown.ts';
import { brief, clip } from './text-width.ts';

/** A live view's line for an event that is neither speech nor an action. Undefined if there is none. */
export function noteLine(
  event: ObservedEvent,
  columns: number,
  paint: Palette,
  debug: Debug = {},
): string | undefined {
  const told = (before: string) => clip(`${before}${describeEvent(event, columns)}`, columns);
  switch (event.type) {
    case 'session.started':
      return paint.dim(
        clip(
          `${brief(event.agent, columns)} · ${brief(event.model, columns)} · ${brief(event.session, columns)}`,
          columns,
        ),
      );
    case 'message.received':
      if (event.from === 'runtime') return paint.dim(told('! '));
      if (event.from === 'steer')
        return paint.bold(clip(`» message for the next turn: ${brief(event.text, columns)}`, columns));
      return event.from === 'user' ? undefined : paint.bold(told('» '));
    case 'metadata.changed':
      if (Object.keys(event.changes).length === 0) return undefined;
      return paint.cyan(clip(`● ${brief(changesText(event, columns), columns)}`, columns));
    case 'metadata.rejected':
    case 'fault':
      return paint.dim(paint.yellow(told('! ')));
    case 'turn.failed':
      if (event.error.code === TURN_BROKEN_OFF) return paint.yellow('! stopped');
      if (event.error.code === TURN_CUT_SHORT) return paint.yellow(told('! '));
      return paint.yellow(told('! turn failed: '));
    case 'turn.started':
      return event.turn > 1 ? paint.dim(`── turn ${event.turn}`) : undefined;
    case 'session.waiting':
      if (event.for === 'message') return undefined;
      // The question is shown above.
      if (event.for.startsWith('review ')) return paint.yellow('waiting for a person');
      return paint.yellow(clip(`waiting for ${brief(event.for, columns)}`, columns));
    case 'review.requested': {
      const asked = `${spelledOutLine(event.target)}: ${spelledOutLine(event.what)}`;
      return paint.yellow(clip(`? waiting for approval: ${asked}`, columns));
    }
    case 'review.resolved':
      return paint.dim(clip(answerText(event), columns));
    case 'review.voided':
      return paint.yellow(told('! review '));
    case 'session.resumed':
      return paint.dim(told('resumed '));
    case 'action.compensated':
      return paint.yellow(told('undone: '));
    case 'trigger.fired':
      // The change that triggered it is shown right above. The log names the run.
      return paint.cyan(
        clip(`⚡ ${brief(event.workflow, columns)} starts  ${seenText(event, columns)}`.trimEnd(), columns),
      );
    case 'workflow.completed':
      return `${paint.green('⚙ ✓')} ${completed(event.workflow, event.output, columns, paint)}`;
    case 'workflow.failed':
      return `${paint.red('⚙ ✗')} ${ended(event.workflow, `${errorText(event.error)} (${event.run})`, columns)}`;
    case 'workflow.cancelled':
      return paint.yellow(`⚙ – ${ended(event.workflow, event.reason, columns)}`);
    case 'custom':
      // The cost of a prompt is part of the totals.
      return event.name === LLM_USAGE ? undefined : paint.dim(told(''));
    case 'variable.changed':
    case 'if.decided':
    case 'prompt.compacted':
    case 'audit':
    case 'trigger.suppressed':
    case 'artifact.written':
      return paint.dim(told(NOTED[event.type]));
    case 'feed.added':
      return paint.dim(told('feed added: '));
    case 'feed.removed':
      return paint.dim(told('feed removed: '));
    case 'feed.updated':
      return event.told === true ? paint.dim(told('feed ')) : undefined;
    case 'feed.failed':
      return paint.yellow(told('! feed '));
    case 'task.given':
      return paint.cyan(told('▸ '));
    case 'task.claimed':
      return paint.green(told('▹ '));
    case 'task.stuck':
      return paint.yellow(told('! stuck: '));
    case 'task.answered':
      return event.text === undefined ? undefined : paint.yellow(told('↺ '));
    case 'handoff':
      return paint.cyan(told('⇢ '));
    case 'handoff.requested':
      return undefined;
    case 'child.review.requested':
      return paint.yellow(told('? '));
    case 'child.session.waiting':
      return paint.yellow(told('waiting: '));
    case 'child.response':
    case 'child.action.completed':
    case 'child.action.failed':
    case 'child.turn.failed':
    case 'child.metadata.changed':
    case 'child.variable.changed':
      return paint.dim(told(CHILD_MARKS[event.type]));
    case 'child.thought':
    case 'child.text':
    case 'child.turn.completed':
    case 'child.turn.started':
    case 'child.action.declared':
    case 'child.action.started':
    case 'child.action.skipped':
    case 'child.action.cancelled':
    case 'child.action.interrupted':
    case 'child.review.resolved':
    case 'child.review.voided':
    case 'child.usage':
    case 'session.completed':
    case 'session.failed':
    case 'session.stalled':
    case 'session.cancelled':
    case 'turn.completed':
    case 'model.output':
    case 'thought':
    case 'thought.delta':
    case 'text':
    case 'response':
    case 'response.delta':
    case 'action.declared':
    case 'action.started':
    case 'action.progress':
    case 'action.retrying':
    case 'action.completed':
    case 'action.failed':
    case 'action.skipped':
    case 'action.cancelled':
    case 'action.interrupted':
    case 'budget.charged':
    case 'timer.set':
    case 'timer.fired':
    case 'workflow.asked':
    case 'task.turn':
    case 'task.over':
      return undefined;
    case 'invoke':
      if (debug.invoke !== true) return undefined;
      return event.fallback === undefined ? paint.dim(told('⚖ ')) : paint.yellow(told('⚖ '));
    case 'hook.ran':
      return event.outcome === 'passed' ? undefined : paint.yellow(told('hook '));
  }
}

/** `approved by ann for this session: go ahead`. */
export function answerText({ answer, by, note, always, standing }: Answered): string {
  const scope = always === true || standing !== undefined ? ' for this session' : '';
  const said = note === undefined || standing !== undefined ? '' : `: ${harmlessLine(note)}`;
  return `${answer} by ${harmlessLine(identityText(by))}${scope}${said}`;
}

interface Answered {
  readonly answer: string;
  readonly by: string;
  readonly note?: string;
  readonly always?: true;
  readonly standing?: string;
}

/** The completed workflow with its output, colored if it is JSON and fits. */
function completed(workflow: string, output: Json, columns: number, paint: Palette): string {
  const name = brief(workflow, columns);
  const left = columns - displayWidth(name) - 5;
  const json = typeof output === 'object' && output !== null ? jsonOnOneLine(output, left, paint) : undefined;
  if (json !== undefined) return `${name} ${json}`;
  return ended(workflow, output === null ? '' : brief(output, columns), columns);
}

const ended = (workflow: string, text: string, columns: number): string =>
  clip(brief(`${workflow}  ${text}`, columns), columns - 4);

const CHILD_MARKS = {
  'child.response': '│ ',
  'child.action.completed': '│ ✓ ',
  'child.action.failed': '│ ✗ ',
  'child.turn.failed': '│ ! turn failed: ',
  'child.metadata.changed': '│ ● ',
  'child.variable.changed': '│ ● ',
} as const;

const NOTED = {
  'variable.changed': '',
  'if.decided': 'if ',
  'prompt.compacted': 'summarized ',
  audit: 'noted: ',
  'trigger.suppressed': 'not started: ',
  'artifact.written': 'artifact ',
} as const;

const DEFAULT_COLUMNS = 80;

/**
 * A result on its own: text as text, anything else as JSON. A pipe gets every character. A terminal gets no control
 * sequences, and with colors it gets rendered Markdown and colored JSON.
 */
export function resultText(
  result: Json,
  output: Pick<Output, 'isTerminal'> & Partial<Pick<Output, 'color' | 'columns'>>,
): string {
  const { isTerminal, color = false, columns = DEFAULT_COLUMNS } = output;
  const paint = paletteFor({ color });
  const isRendered = isTerminal && color;
  if (typeof result !== 'string') {
    const rows = isRendered ? jsonRows(result, columns - 1, Number.POSITIVE_INFINITY, { paint }) : undefined;
    return rows === undefined ? jsonText(result, 2) : `${rows.join('\n')}\n`;
  }
  const text = !isTerminal
    ? result
    : isRendered
      ? markdownText(result, columns - 1, { paint, color })
      : harmlessLines(result).join('\n');
  return text.endsWith('\n') ? text : `${text}\n`;
}

function markdownText(text: string, columns: number, options: Parameters<typeof createMarkdown>[0]): string {
  const markdown = createMarkdown(options);
  const rows = harmlessLines(text.trimEnd()).flatMap((line) => markdown.line(line, columns));
  return [...rows, ...markdown.end(columns)].join('\n');
}
