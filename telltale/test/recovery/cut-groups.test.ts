import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { type DeclaredAction, hasEnded } from '../../src/log/action.ts';
import type { EventOf, EventType, SessionEvent } from '../../src/log/event.ts';
import { fold } from '../../src/log/reduce.ts';
import type { Model } from '../../src/models/model.ts';
import { modelCancelled } from '../../src/models/model-errors.ts';
import { crashEverywhere } from '../../src/testing/crash.ts';
import { openRuntime } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { action, leftOpen } from './say.ts';

/** Long enough for whoever does not wait for it to be first. */
const WORK_MS = 15;
const PIECE = 8;
const DONE = '<response>Done.</response>';

/** Says it word for word, and lets everything else have its turn in between: a process can die there. */
const patient = (turns: readonly string[]): Model => ({
  id: 'patient',
  async stream({ turn, said = 0, signal }, sink) {
    const text = turns[turn - 1] ?? DONE;
    for (let at = said; at < text.length; at += PIECE) {
      if (signal.aborted) throw modelCancelled('patient');
      sink.text(text.slice(at, at + PIECE));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return { finish: 'stop' };
  },
});

const scenario = (turn: string, migrates: boolean) => ({
  input: 'Go.',
  async setUp() {
    const effects: string[] = [];
    const tool = (name: string, works = true) =>
      defineTool({
        name,
        idempotent: true,
        run: async (_, { signal }) => {
          effects.push(`${name} begun`);
          await new Promise((resolve) => setTimeout(resolve, WORK_MS));
          signal.throwIfAborted(); // a dead process does nothing more
          if (!works) throw new Error('no luck');
          effects.push(`${name} done`);
          return `${name} done`;
        },
      });
    const agent = await defineAgent({
      name: 'orderly',
      protocol: { final_with_actions: 'accept' },
      model: patient([turn]),
      tools: [tool('backup'), tool('migrate', migrates), tool('deploy')],
    });
    return { agent, effects };
  },
});

const group = `<parallel id="g">${action('b', 'backup')}${action('m', 'migrate')}</parallel>`;
const deploy = action('d', 'deploy', { depends_on: ['g'] });

for (const [where, turn] of [
  ['behind it', `${group}${deploy}`],
  ['before it', `${deploy}${group}`],
] as const)
  for (const migrates of [true, false])
    it(`what depends on a <parallel> and stands ${where} ${migrates ? 'begins only when all of it has succeeded' : 'never begins where one of it fails'}, wherever the process dies`, async () => {
      await crashEverywhere(scenario(turn, migrates), ({ scene: { effects }, result }) => {
        expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
        const begins = effects.indexOf('deploy begun');
        if (!migrates) expect(begins).toBe(-1);
        if (begins === -1) return;
        expect(effects.slice(0, begins)).toEqual(expect.arrayContaining(['backup done', 'migrate done']));
      });
    });

const keep = (id: string, ...ids: readonly string[]) =>
  action(id, 'keep', ids.length === 0 ? {} : { depends_on: ids });
const once = (id: string) => action(id, 'once');
const each = (id: string) => `<foreach in="$list" as="item">${keep(id)}</foreach>`;

/** Where `d`, `e`, `f` and `i` depend on the groups `g` and `h`. */
const SCRIPTS: readonly (readonly [where: string, ...turns: string[]])[] = [
  ['behind it', `So. <parallel id="g">${keep('a')} and ${once('b')}</parallel> Then ${keep('d', 'g')}.`],
  ['in front of it', `${keep('d', 'g')}<parallel id="g">${keep('a')}${keep('b')}</parallel>${keep('c')}`],
  [
    'in a later turn',
    `<parallel id="g">${once('a')}${keep('b')}</parallel>${keep('c')}`,
    keep('d', 'g', 'c'),
  ],
  [
    'behind one in another',
    `<parallel id="g">${keep('a')}<parallel id="h">${keep('b')}</parallel>${once('c')}</parallel>${keep('d', 'g')}${keep('e', 'h')}`,
    `${keep('f', 'd')}${keep('i', 'h')}`,
  ],
  [
    'behind one with a <foreach>, in an <if>',
    `<if test="true"><parallel id="g">${keep('a')}${each('r')}</parallel>${keep('d', 'g', 'r')}<else/>${keep('x')}</if>${keep('e', 'r')}`,
  ],
  [
    'behind one in a thought',
    `<thought>I <parallel id="g">${keep('a')}${keep('b')}</parallel> so</thought>${keep('d', 'g')}`,
  ],
];

const of = <Type extends EventType>(log: readonly SessionEvent[], type: Type) =>
  log.filter((event): event is EventOf<Type> => event.type === type);
const isForEach = ({ id }: DeclaredAction) => id.startsWith('foreach_');
/** The ids of what a `<foreach>` makes. */
const madeBy = ({ parameters }: DeclaredAction): readonly string[] =>
  ((parameters as { actions?: readonly { id: string }[] }).actions ?? []).map(({ id }) => id);
const groupsOf = ({ group, within = [] }: DeclaredAction): readonly string[] =>
  group === undefined ? [] : [group, ...within];
/** Ids whose actions the model was told had not been run. */
const notRun = (log: readonly SessionEvent[]) =>
  of(log, 'fault').flatMap(({ code, message }) =>
    code === 'not_run' ? (/"(\w+)"/.exec(message)?.[1] ?? []) : [],
  );

/** What the last turn of a log had said, if it had not ended. */
function openText(log: readonly SessionEvent[]): string {
  const at = log.findLastIndex(({ type }) => type.startsWith('turn.'));
  if (log[at]?.type !== 'turn.started') return '';
  return of(log.slice(at), 'model.output')
    .map(({ text }) => text)
    .join('');
}

/** How each action of an undisturbed log has to end in a session whose process died behind `left`. */
function promised(
  undisturbed: readonly SessionEvent[],
  left: readonly SessionEvent[],
): ReadonlyMap<string, string> {
  const all = of(undisturbed, 'action.declared').flatMap(({ action: each }) =>
    isForEach(each) ? [] : [each],
  );
  const { actions } = fold(left);
  const looped = [...actions.values()].flatMap((known) => madeBy(known.action));
  const isKnown = ({ id, base = '' }: DeclaredAction) => actions.has(id) || looped.includes(base);
  const membersOf = (id: string) =>
    all.filter((each) => each.id === id || each.base === id || groupsOf(each).includes(id));
  const text = openText(left);
  const broken = [...of(left, 'turn.failed').flatMap(({ groups = [] }) => groups), ...leftOpen(text)];
  const lost = notRun(left);
  const fails = (id: string): boolean =>
    (broken.includes(id) && membersOf(id).some(isKnown)) ||
    membersOf(id).some((member) => endOf(member) !== 'completed');
  const endOf = (asked: DeclaredAction): string => {
    const { id, base = id, name, depends_on = [] } = asked;
    const known = actions.get(id);
    if (known !== undefined && hasEnded(known.status)) return known.status;
    if (lost.includes(base) || (!isKnown(asked) && text.includes(`<action id="${base}">`))) return 'not run';
    if (known?.status === 'running' && name === 'once') return 'interrupted';
    // It was declared in the turn that broke off, and what it needs was not.
    const isInVain = known !== undefined && depends_on.some((need) => !membersOf(need).some(isKnown));
    return isInVain || depends_on.some(fails) ? 'skipped' : 'completed';
  };
  return new Map(all.map((each) => [each.id, endOf(each)]));
}

/** How each action of an undisturbed log has ended in this one. */
function ended(
  undisturbed: readonly SessionEvent[],
  log: readonly SessionEvent[],
): ReadonlyMap<string, string> {
  const { actions } = fold(log);
  const lost = notRun(log);
  return new Map(
    of(undisturbed, 'action.declared').flatMap(({ action: { id, base = id, ...rest } }) => {
      const status = lost.includes(base) ? 'not run' : (actions.get(id)?.status ?? 'never declared');
      return isForEach({ id, ...rest }) ? [] : [[id, status] as const];
    }),
  );
}

describe('a log that ends behind any of its events', () => {
  it.each(SCRIPTS)(
    'skips what depends on a <parallel> only where that is not whole: %s',
    async (...[, ...turns]) => {
      const tool = (name: string, idempotent: boolean) =>
        defineTool({ name, idempotent, run: () => new Promise((done) => setImmediate(() => done(name))) });
      const agent = await defineAgent({
        name: 'cut',
        protocol: { final_with_actions: 'accept' },
        model: scripted([...turns, ...Array.from({ length: turns.length + 3 }, () => DONE)]),
        tools: [tool('keep', true), tool('once', false)],
        context_variables: { runtime: [{ name: 'list', type: 'array', default: ['x', 'y'] }] },
      });
      const runtime = await openRuntime({ store: 'memory', random: () => 0 });
      const whole = runtime.start(agent, { input: 'Go.' });
      await whole.result;
      const undisturbed = await runtime.events(whole.id);
      /** Takes the log up behind each of its events from `first` on; resolves with the ids of those sessions. */
      const cutBehind = async (id: string, first: number): Promise<string> => {
        let inside = '';
        for (const { seq } of (await runtime.events(id)).slice(first - 1, -1)) {
          const cut = await runtime.fork(id, seq);
          const left = await runtime.events(cut);
          const { status } = await (await runtime.resume(cut, { agent })).result;
          const log = await runtime.events(cut);
          expect([seq, status, ...ended(undisturbed, log)]).toEqual([
            seq,
            'completed',
            ...promised(undisturbed, left),
          ]);
          if (leftOpen(openText(left)).length > 0) inside = cut;
        }
        return inside;
      };
      // Once more in what goes on behind the last that ended in a `<parallel>`.
      const again = await cutBehind(whole.id, 1);
      await cutBehind(
        again,
        (await runtime.events(again)).findIndex(({ type }) => type === 'turn.failed'),
      );
      await runtime.close();
    },
  );
});
