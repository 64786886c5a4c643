import { describe, expect, it } from 'vitest';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { frameOf } from '../../src/lib/calls.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { resumeEverywhere } from '../../src/testing/crash.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { agentFolder, runAgent, tool } from './run-agent.ts';
import { call, endSlow, FINAL, isSaid, isType, lived, of } from './taken-up-stage.ts';

const METADATA = { fields: { status: { values: ['A', 'B'], default: 'A' } } } as const;
const LIST = { runtime: [{ name: 'list', type: 'array' as const, default: [1] }] };
const SLOW = call('a', 'slow');
const open = (text: string) => `<response final="false">${text}</response>`;

const responses = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'response' ? [event.text] : []));

describe('a response that waited when its turn was cut short', () => {
  /** What goes out, once the log is taken up that ends with the text of the turn. */
  const out = async (turn: string, last = 'It is') => {
    const { behind, slow } = await lived([`${SLOW}${turn}`, FINAL], {
      agent: { metadata: METADATA },
      isHeld: true,
      during: (_session, held) => endSlow(held),
    });
    const { since } = await behind(isSaid(last), ['', FINAL], () => endSlow(slow));
    return responses(since);
  };

  it.each([
    [
      'in a branch that was taken, though its test would fail by now',
      `<if test="metadata.status == 'A'"><metadata>{"status":"B"}</metadata>${open('It is $a.')}</if>`,
    ],
    ['in the other branch', `<if test="metadata.status == 'B'">No.<else/>${open('It is $a.')}</if>`],
    ['behind a branch that was not taken', `<if test="false">${open('Never $a.')}</if>${open('It is $a.')}`],
    ['in a branch in a branch', `<if test="true"><if test="true">${open('It is $a.')}</if></if>`],
  ])('goes out: %s', async (_where, turn) => {
    expect(await out(turn)).toEqual(['It is at last.', 'Done.']);
  });

  it('goes out in its order, and those before it do not again', async () => {
    expect(await out(`${open('First.')}${open('It is $a.')}${open('Then $a.')}`, 'Then')).toEqual([
      'It is at last.',
      'Then at last.',
      'Done.',
    ]);
  });
});

describe('a turn that was cut short behind a sync action', () => {
  const ends = async (turn: string, at: string) => {
    const { behind } = await lived([turn, FINAL], { agent: { protocol: { on_sync: 'observe' } } });
    const { since } = await behind(
      (event) => event.type === 'action.declared' && event.action.id === at,
      ['', FINAL],
    );
    return of(since, 'turn.completed', 'turn.failed')[0]?.type;
  };

  it('ended there where it is observed, also behind a <parallel>', async () => {
    const parallel = `<parallel id="p">${call('b', 'echo')}</parallel>`;
    expect(await ends(`${parallel}${call('a', 'slow', 'sync')}More.`, 'a')).toBe('turn.completed');
  });

  it.each([
    ['in a <parallel>', `<parallel id="p">${call('a', 'slow', 'sync')}</parallel>More.`],
    ['that is not sync', `${call('a', 'slow')}More.`],
  ])('would have gone on where it is none: %s', async (_what, turn) => {
    expect(await ends(turn, 'a')).toBe('turn.failed');
  });
});

describe('what was asked for when the turn was cut short', () => {
  const notRun = (events: readonly SessionEvent[]) =>
    events.flatMap((event) => (event.type === 'fault' ? [event.code] : []));
  const LOOP = (id: string) => `<foreach in="$list" as="x">${call(id, 'echo')}</foreach>`;

  it('and did not begin is told: a <foreach>, also where one of an earlier turn did', async () => {
    const { behind } = await lived([LOOP('e'), `${LOOP('f')}More.`, FINAL], {
      agent: { context_variables: LIST },
    });
    const { since } = await behind(isSaid('id="f"'), ['', '', FINAL]);
    expect(since.find(({ type }) => type === 'fault')).toMatchObject({
      code: 'not_run',
      message: expect.stringContaining('"f"'),
    });
    expect(notRun((await behind(isSaid('id="e"'), ['', FINAL])).since)).toEqual(['not_run']);
  });

  it('and had begun is not, nor what could not be made, which is told as that', async () => {
    const bad = LOOP('e').replace('async', 'soon');
    const { behind } = await lived([`${LOOP('g')}${bad}More.`, FINAL], {
      agent: { context_variables: LIST },
    });
    const isLoop = (event: SessionEvent) =>
      event.type === 'action.declared' && event.action.name === 'foreach';
    expect(notRun((await behind(isLoop, ['', FINAL])).since)).not.toContain('not_run');
    const codes = notRun((await behind(isSaid('id="e"'), ['', FINAL])).since);
    expect(codes).not.toContain('not_run');
    expect(codes.length).toBeGreaterThan(0);
  });

  it('and is on the log is not done again: a variable is set once', async () => {
    const runtime = [{ name: 'v', type: 'number' as const, default: 0 }];
    const step = (input: object) => frameOf({ id: 'c', name: 'step', input: JSON.stringify(input) });
    const done = step({ response: 'Done.', is_complete: true, notes: 'All of it is done.' });
    const { behind } = await lived([step({ thought: 'Hm.', context_updates: { v: 7 } }), done], {
      agent: { dialect: 'step', context_variables: { runtime } },
    });
    const { since } = await behind(isType('variable.changed'), ['', done]);
    expect(of(since, 'variable.changed')).toEqual([]);
  });
});

describe('what is left of a turn that was cut short', () => {
  it.each(['final', 'nudge'])('is no text without tags where that turn had some (%s)', async (bare) => {
    const cwd = agentFolder(
      `protocol: { bare_text: ${bare} }\nimport: { tools: [./tools/*.yml] }\n`,
      tool('echo', 'return 1;'),
    );
    const turns = [`<thought>Look ${call('a', 'echo', 'sync')} and on.</thought>`, FINAL];
    const setUp = async () => ({ agent: await loadAgent('agent.yml', { cwd }) });
    const model = scripted(turns);
    await resumeEverywhere({ setUp, input: 'Go.', start: { model }, resume: { model } }, (survivor) => {
      expect(survivor.result).toMatchObject({ status: 'completed', result: 'Done.' });
      expect(
        of(survivor.events, 'fault').filter((fault) => 'code' in fault && fault.code === 'no_tags'),
      ).toEqual([]);
    });
  });
});

describe('what a turn was told at its end', () => {
  it('is not told again where the log is taken up behind that', async () => {
    const bare = await lived(['Hm.', FINAL]);
    const told = await bare.behind(isType('fault'), ['', FINAL]);
    expect(of(told.all, 'fault')).toMatchObject([{ code: 'no_tags' }]);
    const idle = await lived(['<thought>Hm.</thought>', FINAL]);
    const reminded = await idle.behind(isType('message.received'), ['', FINAL]);
    expect(of(reminded.all, 'message.received')).toHaveLength(1);
  });

  it('names the fence that all of it stood in, and no fence that was not there', async () => {
    const message = async (turn: string) =>
      (await runAgent({ turns: [turn, FINAL] })).of('fault')[0]?.message;
    expect(await message('```\n<response>Done.</response>\n```')).toContain('code fence');
    expect(await message(' ~~~\n<response>Done.</response>\n~~~')).toContain('code fence');
    expect(await message('Hm.')).not.toContain('code fence');
  });
});
