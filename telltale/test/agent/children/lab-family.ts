import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyOf } from '../../../src/agent/children/copy-event.ts';
import type { SessionEvent } from '../../../src/log/event.ts';
import { fold } from '../../../src/log/reduce.ts';
import type { SessionState } from '../../../src/log/state.ts';
import type { ModelRequest } from '../../../src/models/model.ts';
import { checkSurvival } from '../../recovery/check-survival.ts';
import { type LabTool, labFolder } from '../../recovery/lab-tools.ts';
import { action, text } from '../../recovery/say.ts';
import type { JournalLine, Scene } from '../../recovery/scene.ts';
import { call } from './run-team.ts';

const TOOLS: readonly LabTool[] = ['copy', 'send'].map((name) => ({
  name,
  idempotent: name === 'copy',
  kind: 'module',
  ms: 1,
}));

/** Final responses more than once, for when one is undone. */
const SPARE = 5;

const PARENT_SCRIPT: readonly string[] = [
  [
    '<metadata>{"stage":"BEGUN"}</metadata>',
    call('a1', 'mate', { output_key: 'help' }),
    action('s', 'send', text('by the caller')),
    '<response final="false">My mate says $help.</response>',
  ].join('\n'),
  ...Array.from({ length: SPARE }, () => '<response>help is $help.\ns is $s.</response>'),
];

const CHILD_SCRIPT: readonly string[] = [
  [
    '<thought>I begin.</thought>',
    action('s', 'send', text('by the mate')),
    action('c', 'copy', { ...text('$s'), depends_on: ['s'] }),
    '<metadata>{"stage":"HALF","count":1}</metadata>',
    '<response final="false">So far $c.</response>',
  ].join('\n'),
  ...Array.from(
    { length: SPARE },
    () => '<metadata>{"stage":"LATE"}</metadata><response>c is $c.\ns is $s.</response>',
  ),
];

/** What the model of either says in answer to a request. */
export const lineOf = ({ messages, turn, said = 0 }: ModelRequest): string =>
  ((messages[0]?.text.includes('called you') === true ? CHILD_SCRIPT : PARENT_SCRIPT)[turn - 1] ?? '').slice(
    said,
  );

/**
 * An agent that calls another one, which stands beside it. They share a part of their metadata; the mate has a script
 * of its own, or runs on the model of its caller.
 */
export function makeFamily(mate: 'scripted' | 'no model'): string {
  const beside = [
    '---',
    'kind: Agent',
    'name: mate',
    ...(mate === 'scripted' ? ['model: scripted:mate.json'] : []),
    'metadata: { inherit: share, fields: { stage: { values: [NEW, BEGUN, HALF, LATE] }, count: { type: number } } }',
    'import: { tools: [./tools/*.yml] }',
  ].join('\n');
  const pace = { tokens_per_second: 20_000 };
  const folder = labFolder(TOOLS, { turns: PARENT_SCRIPT, ...pace }, beside);
  writeFileSync(join(folder, 'mate.json'), JSON.stringify({ turns: CHILD_SCRIPT, ...pace }));
  return folder;
}

export interface Survivors {
  readonly id: string;
  /** What a kill left of both logs. */
  readonly before: { readonly parent: readonly SessionEvent[]; readonly child: readonly SessionEvent[] };
  readonly parent: readonly SessionEvent[];
  readonly child: readonly SessionEvent[];
  readonly journal: readonly JournalLine[];
  /** Whether what was completed before is in the journal of another run. */
  readonly isCopied: boolean;
  readonly undisturbed: { readonly parent: readonly string[]; readonly child: readonly string[] };
}

/** Throws unless both sessions lost nothing, did nothing twice, and agree with each other. */
export function checkFamily(survivors: Survivors): void {
  const { id, before, parent, child, journal, isCopied, undisturbed } = survivors;
  const check = (
    session: string,
    log: readonly SessionEvent[],
    left: readonly SessionEvent[],
    script: readonly string[],
    responses: readonly string[],
  ) =>
    checkSurvival({
      tools: TOOLS,
      script,
      printed: [],
      scenes: isCopied ? [sceneOf(left)] : [],
      log,
      journal: journal.filter((line) => line.session === session),
      elsewhere: isCopied
        ? left.flatMap((event) => (event.type === 'action.completed' ? [event.id] : []))
        : [],
      undisturbed: responses,
    });
  const { interrupted } = check(`${id}.a1`, child, before.child, CHILD_SCRIPT, undisturbed.child);
  const [state, own] = [fold(parent), fold(child)];
  assert.equal(state.actions.get('a1')?.output, own.result, "the action's result is not that of its agent");
  // Where the mate could not do all, its caller says something else, too.
  if (interrupted.length === 0) check(id, parent, before.parent, PARENT_SCRIPT, undisturbed.parent);
  assert.equal(state.status, 'completed');
  assert.deepEqual(
    parent.flatMap((event) => ('child' in event ? [event.child.seq] : [])),
    child.flatMap((event) => (copyOf(event, 'a1') === undefined ? [] : [event.seq])),
    'events of the mate are missing on the log of its caller, or are there twice',
  );
  assert.deepEqual(state.metadata, own.metadata, 'the metadata that they share is not the same');
  assert.deepEqual(
    spent(state),
    [parent, child].map(turnTokens).reduce((a, b) => a + b),
    'not all that was used counts',
  );
}

const sceneOf = (log: readonly SessionEvent[]): Scene => ({ log, journalLength: 0 });

const spent = ({ totals }: SessionState) => totals.input + totals.output;

const turnTokens = (log: readonly SessionEvent[]): number =>
  log.reduce((sum, event) => {
    const usage = event.type === 'turn.completed' || event.type === 'turn.failed' ? event.usage : undefined;
    return sum + (usage?.input ?? 0) + (usage?.output ?? 0);
  }, 0);
