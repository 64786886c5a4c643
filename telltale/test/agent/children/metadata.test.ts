import { describe, expect, it } from 'vitest';
import { fold } from '../../../src/log/reduce.ts';
import { tool } from '../run-agent.ts';
import { call, runTeam } from './run-team.ts';

const FIELDS =
  'metadata: { fields: { stage: { values: [NEW, OLD] }, note: { type: string, max_length: 5 }, map: { type: object, merge: deep } } }\n';
const child = (inherit: string, turns: readonly string[], manifest = '') => ({
  manifest: `metadata: { inherit: ${inherit}, fields: { stage: { values: [NEW, OLD, ODD], default: ODD }, note: { type: string }, map: { type: object }, own: { type: string } } }\n${manifest}`,
  turns,
});
const SET = '<metadata>{"stage":"NEW","note":"hello"}</metadata>';
const start = (metadata: string) => `${metadata}${call('a1', 'sub')}<response>$a1</response>`;

describe('metadata.inherit of a sub-agent', () => {
  it('none: it has its own metadata and sees nothing else', async () => {
    const ran = await runTeam(
      { sub: child('none', ['<metadata>{"stage":"OLD"}</metadata><response>Ok.</response>']) },
      { manifest: FIELDS, turns: [start(SET)] },
    );
    expect(ran.childOf('a1', 'session.started')[0]?.metadata).toEqual({ stage: 'ODD' });
    expect(ran.childOf('a1', 'message.received')).toEqual([]);
    expect(ran.of('metadata.changed').map(({ by }) => by)).toEqual(['model']);
  });

  it("read: it sees its caller's values, in its first prompt and in agent.parent, and changes none", async () => {
    const look = tool('look', 'return context.agent.parent.metadata.note;');
    const files = Object.fromEntries(Object.entries(look).map(([name, text]) => [`team/${name}`, text]));
    const turns = [
      '<action id="l" mode="sync">{"name":"look"}</action><if test="agent.parent.metadata.stage == \'NEW\'"><metadata>{"stage":"OLD"}</metadata><response>$l</response></if>',
    ];
    const ran = await runTeam(
      { sub: child('read', turns, 'import: { tools: [./tools/*.yml] }\n') },
      { manifest: FIELDS, files, turns: [start(SET)] },
    );
    expect(ran.result.result).toBe('hello');
    expect(ran.childOf('a1', 'session.started')[0]?.metadata).toEqual({ stage: 'ODD' });
    expect(ran.childOf('a1', 'message.received')).toMatchObject([
      { from: 'parent', text: 'My metadata, for you to read: {"stage":"NEW","note":"hello"}' },
    ]);
    expect(ran.of('metadata.changed').map(({ by }) => by)).toEqual(['model']);
  });

  it('share: fields of both begin with the values of the caller, and changes come back to it', async () => {
    const ran = await runTeam(
      {
        sub: child('share', ['<metadata>{"stage":"OLD","own":"mine"}</metadata><response>Ok.</response>']),
      },
      { manifest: FIELDS, turns: [start(SET)] },
    );
    expect(ran.childOf('a1', 'session.started')[0]?.metadata).toEqual({ stage: 'NEW', note: 'hello' });
    const [, change] = ran.of('metadata.changed');
    expect(change).toMatchObject({ changes: { stage: { from: 'NEW', to: 'OLD' } }, by: 'child:sub' });
    const [copy] = ran.of('child.metadata.changed');
    expect(change?.cause).toMatchObject({ stream: ran.result.session, seq: copy?.seq });
  });

  it('share: what the caller may not have is refused on its log, and is no mistake of its model', async () => {
    const ran = await runTeam(
      {
        sub: child('share', [
          '<metadata>{"stage":"ODD","note":"too long"}</metadata><response>Ok.</response>',
        ]),
      },
      { manifest: FIELDS, turns: [`${SET}${call('a1', 'sub', {}, 'sync')}`, '<response>Ok.</response>'] },
    );
    expect(ran.of('metadata.rejected')).toMatchObject([
      { by: 'child:sub', errors: [{ field: 'stage' }, { field: 'note' }] },
    ]);
    expect(ran.prompts[1]).not.toContain('rejected');
    expect(ran.of('metadata.changed')).toHaveLength(1);
  });

  it('share: a value that the sub-agent may not have is left out', async () => {
    const strict = {
      manifest: 'metadata: { inherit: share, fields: { note: { type: string, max_length: 2 } } }\n',
      turns: ['<response>Ok.</response>'],
    };
    const ran = await runTeam({ sub: strict }, { manifest: FIELDS, turns: [start(SET)] });
    expect(ran.childOf('a1', 'session.started')[0]?.metadata).toEqual({});
    expect(ran.childOf('a1', 'metadata.rejected')).toMatchObject([
      { by: 'seed', errors: [{ field: 'note' }] },
    ]);
  });

  it('share: sub-agents side by side change parts of one field that the caller merges', async () => {
    const setting = (value: string) =>
      child('share', [`<metadata>{"map":${value}}</metadata><response>Ok.</response>`]);
    const ran = await runTeam(
      {
        one: setting('{"keep":1,"a":{"x":1}}'),
        two: setting('{"b":[2]}'),
      },
      {
        manifest: FIELDS,
        turns: [
          `<metadata>{"map":{"keep":1,"gone":1}}</metadata>${call('a1', 'one')}${call('a2', 'two')}<response>$a1 $a2</response>`,
        ],
        async after(session, runtime) {
          // The second drops what it does not name, of what it began with.
          expect((await runtime.state(session)).metadata.map).toEqual({ a: { x: 1 }, b: [2] });
        },
      },
    );
    expect(ran.result.status).toBe('completed');
  });

  it('share: values of the caller count more than those that the agent kept of its last run', async () => {
    const manifest =
      'metadata: { scope: agent, inherit: share, fields: { note: { type: string }, own: { type: string } } }\n';
    const turns = [
      '<metadata>{"own":"$note"}</metadata>',
      '<metadata>{"own":"kept"}</metadata><response>$note</response>',
    ];
    const ran = await runTeam({ sub: { manifest, turns } }, { manifest: FIELDS, turns: [start(SET)] });
    expect(ran.result.result).toBe('hello');
    expect(ran.of('metadata.changed').map(({ by }) => by)).toEqual(['model']);
  });

  it('share: a change is no deed of the caller', () => {
    const head = { at: 0, session: 's', turn: 1, cause: { stream: 's', seq: 0, depth: 0 } };
    const signs = (by: string) =>
      fold([
        { ...head, seq: 1, type: 'turn.started', prompt: { tokens: 1, reused_prefix: 1 } },
        { ...head, seq: 2, type: 'metadata.changed', changes: { stage: { from: null, to: 'OLD' } }, by },
      ]).signs;
    expect(signs('model')).toMatchObject({ tags: true, deeds: true });
    expect(signs('child:sub')).toMatchObject({ tags: false, deeds: false });
  });
});
