import assert from 'node:assert/strict';
import { hasEnded } from '../../src/log/action.ts';
import type { EventOf, EventType, SessionEvent } from '../../src/log/event.ts';
import { fold } from '../../src/log/reduce.ts';
import { createSnapshotWriter, restoreSnapshot } from '../../src/log/snapshot.ts';
import { emptyState, type SessionState } from '../../src/log/state.ts';
import { restOfTurn } from '../../src/models/scripted/rest-of-turn.ts';
import { unsoundCauses } from '../log/unsound-causes.ts';
import type { LabTool } from './lab-tools.ts';
import type { JournalLine, Scene } from './scene.ts';

/** All that is known of a session that was killed again and again and has come to its end. */
export interface Survivor {
  readonly tools: readonly LabTool[];
  readonly script: readonly string[];
  /** What each process printed. */
  readonly printed: readonly (readonly SessionEvent[])[];
  /** What was found after kills. */
  readonly scenes: readonly Scene[];
  readonly log: readonly SessionEvent[];
  readonly journal: readonly JournalLine[];
  /** Ids of actions that another session completed, from which this one was branched off. */
  readonly elsewhere?: readonly string[];
  /** The responses of a run that nothing happened to, the final one last. */
  readonly undisturbed: readonly string[];
}

export interface Survived {
  readonly interrupted: readonly string[];
  readonly rerun: number;
}

/** Throws an AssertionError unless the session lost nothing, did nothing twice and came to the right end. */
export function checkSurvival(survivor: Survivor): Survived {
  const { log } = survivor;
  const state = fold(log);
  checkNothingLost(survivor);
  checkNothingTwice(survivor, state);
  checkSpeech(survivor);
  assert.deepEqual(unsoundCauses(new Map([[log[0]?.session ?? '', log]])), [], 'causes lead nowhere');
  checkFolds(log, state);
  assert.equal(state.status, 'completed', `it ended as ${state.status}: ${JSON.stringify(state.error)}`);
  assert.deepEqual([...state.open], [], 'actions were left open');
  const interrupted = of(log, 'action.interrupted').map(({ id }) => id);
  checkOutcome(survivor, state, interrupted);
  const starts = survivor.journal.filter(({ what }) => what === 'start').length;
  return { interrupted, rerun: starts - new Set(survivor.journal.map(({ id }) => id)).size };
}

const of = <Type extends EventType>(log: readonly SessionEvent[], type: Type) =>
  log.filter((event): event is EventOf<Type> => event.type === type);

function checkNothingLost({ log, printed, scenes }: Survivor): void {
  assert.deepEqual(
    log.map(({ seq }) => seq),
    log.map((_, index) => index + 1),
    'the log has gaps',
  );
  for (const event of printed.flat())
    assert.deepEqual(log[event.seq - 1], event, `event ${event.seq} is not what a process printed`);
  for (const [index, scene] of scenes.entries())
    assert.deepEqual(
      log.slice(0, scene.log.length),
      scene.log,
      `the log that kill ${index + 1} left is not how the last one begins`,
    );
}

function checkNothingTwice(
  { tools, log, journal, scenes, elsewhere = [] }: Survivor,
  state: SessionState,
): void {
  const declared = of(log, 'action.declared').map(({ action }) => action.id);
  assert.equal(new Set(declared).size, declared.length, `declared twice: ${repeated(declared)}`);
  const ends = log.filter(
    (event) => /^action\.(completed|failed|skipped|cancelled|interrupted)$/.test(event.type) && 'id' in event,
  ) as EventOf<'action.completed'>[];
  const ended = ends.map(({ id }) => id);
  assert.equal(new Set(ended).size, ended.length, `ended twice: ${repeated(ended)}`);
  for (const [index, scene] of scenes.entries()) {
    const over = new Set(of(scene.log, 'action.completed').map(({ id }) => id));
    for (const { what, tool, id } of journal.slice(scene.journalLength))
      assert.ok(
        what === 'done' || !over.has(id),
        `${tool} (${id}) had completed, and ran again after kill ${index + 1}`,
      );
  }
  for (const { name, idempotent } of tools) {
    const started = journal.filter(({ what, tool }) => what === 'start' && tool === name).map(({ id }) => id);
    if (!idempotent)
      assert.equal(
        new Set(started).size,
        started.length,
        `${name} is not idempotent and ran twice: ${repeated(started)}`,
      );
  }
  const done = new Set(journal.filter(({ what }) => what === 'done').map(({ id }) => id));
  for (const id of elsewhere) done.add(id);
  const names = new Set(tools.map(({ name }) => name));
  for (const [id, { status, action }] of state.actions)
    if (status === 'completed' && names.has(action.name))
      assert.ok(done.has(id), `${id} is completed, but was not done`);
}

const repeated = (ids: readonly string[]) => ids.filter((id, index) => ids.indexOf(id) !== index).join(', ');

/**
 * The model said every turn of its script once, from the first character to the last, however often it was cut off: after
 * each cut it went on with what was still to be said.
 */
function checkSpeech({ log, script }: Survivor): void {
  const left = [...script];
  let said = '';
  for (const event of log) {
    if (event.type === 'model.output') said += event.text;
    if (event.type !== 'turn.failed' && event.type !== 'turn.completed') continue;
    const rest = left.shift() ?? '';
    if (event.type === 'turn.failed') left.unshift(restOfTurn(rest, said.length));
    assert.equal(said, event.type === 'turn.failed' ? rest.slice(0, said.length) : rest);
    said = '';
  }
  assert.equal(said, '', 'a turn was left open');
}

/** The `<parallel>`s that turns broke off in. */
const brokenGroups = (log: readonly SessionEvent[]): ReadonlySet<string> =>
  new Set(of(log, 'turn.failed').flatMap(({ groups = [] }) => groups));

function checkFolds(log: readonly SessionEvent[], state: SessionState): void {
  for (const at of [1, Math.floor(log.length / 3), Math.floor(log.length / 2), log.length - 1]) {
    const half = fold(log.slice(at), fold(log.slice(0, at)));
    assert.deepEqual(half, state, `folding in two at ${at} gives another state`);
  }
  const snapshots = createSnapshotWriter();
  const live = emptyState();
  const parts: string[] = [];
  let covered = 0;
  const every = Math.max(2, Math.floor(log.length / 4));
  for (const event of log) {
    fold([event], live);
    snapshots.note(event);
    if (snapshots.due() < every) continue;
    parts.push(snapshots.take(live));
    covered = event.seq;
    assert.deepEqual(
      fold(log.slice(covered), restoreSnapshot(parts)),
      state,
      `folding from the snapshot at ${covered} gives another state`,
    );
  }
}

function checkOutcome(
  { tools, log, undisturbed }: Survivor,
  state: SessionState,
  interrupted: readonly string[],
): void {
  const broken = brokenGroups(log);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  for (const [id, { action, status, skipped }] of state.actions) {
    assert.ok(hasEnded(status), `${id} has not ended`);
    const tool = byName.get(action.name);
    if (tool?.idempotent !== true || status === 'completed' || status === 'compensated') continue;
    if (status === 'failed' && tool.fails === 'always') continue;
    assert.equal(status, 'skipped', `${id} is idempotent and was declared, but ${status}`);
    const because = skipped?.because ?? '';
    const cause = state.actions.get(because)?.status;
    assert.ok(
      cause === 'interrupted' || cause === 'failed' || cause === 'skipped' || broken.has(because),
      `${id} was skipped because of ${because}, which was ${cause}`,
    );
  }
  for (const id of interrupted)
    assert.equal(
      byName.get(state.actions.get(id)?.action.name ?? '')?.idempotent ?? false,
      false,
      `${id} may run again, but was interrupted`,
    );
  const responses = of(log, 'response');
  const finals = responses.filter(({ final }) => final);
  assert.equal(finals.length, 1, 'there is not one final response');
  assert.equal(finals[0]?.text, state.result, 'the result is not the final response');
  if (interrupted.length === 0 && broken.size === 0)
    assert.deepEqual(
      responses.map(({ text }) => text),
      undisturbed,
      'the responses are not those of a run that nothing happened to',
    );
  assert.deepEqual(
    beginnings(responses.map(({ text }) => text)),
    beginnings(undisturbed),
    'a response is missing, or came twice',
  );
  const last = undisturbed.at(-1) ?? '';
  const named = (id: string) => last.split('\n').some((line) => line.startsWith(`${id} is `));
  for (const [id, { status }] of state.actions)
    if (status !== 'completed' && named(id))
      assert.ok(
        String(state.result).includes(`${id} is [unavailable: ${id}`),
        `the result does not say that ${id} was ${status}: ${state.result}`,
      );
}

/** How responses begin: before the first value in them. A final one that was undone comes once more, and counts once. */
function beginnings(responses: readonly string[]): readonly string[] {
  const all = responses.map((text) => text.slice(0, 5));
  return all.filter(
    (beginning, index) =>
      beginning !== all[index - 1] || (index < responses.length - 1 && beginning !== all.at(-1)),
  );
}

/** The responses of a session, in order: what `undisturbed` is to be compared with. */
export const responsesOf = (log: readonly SessionEvent[]): readonly string[] =>
  of(log, 'response').map(({ text }) => text);
