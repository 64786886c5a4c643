import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { namingStore } from '../../../src/cli/session/store-options.ts';
import { decodeEvent } from '../../../src/log/codec.ts';
import type { SessionEvent } from '../../../src/log/event.ts';
import type { FakeOptions } from '../../cli/fake-runtime.ts';
import { command } from '../../cli/run-command.ts';
import { call, runTeam, type TeamRan } from './run-team.ts';

const echo = { turns: ['<response>Done by echo.</response>'] };
const ran: TeamRan = await runTeam(
  { echo },
  {
    turns: [`${call('a1', 'echo')}${call('a2', 'echo')}<response>$a1</response>`],
    start: { id: 'ses_lead' },
  },
);
const parent = { parent: 'ses_lead' };
const infos: FakeOptions['infos'] = { 'ses_lead.a1': parent, 'ses_lead.a2': parent };
const STORED: FakeOptions = { logs: [ran.events, ran.child('a1'), ran.child('a2')], infos };

/** Both logs as they were before the sub-agent's answer was in. */
const upTo = (log: readonly SessionEvent[], type: string) =>
  log.slice(0, log.findIndex((event) => event.type === type) + 1);
const CUT: FakeOptions = {
  logs: [upTo(ran.events, 'action.started'), upTo(ran.child('a1'), 'turn.started')],
  infos,
};

describe('telltale sessions', () => {
  it('shows sessions of called agents below the one that called them, and does not count them', async () => {
    const { out } = await command(['sessions', '--limit', '1'], STORED);
    expect(out.split('\n').map((line) => line.split(/ {2,}/)[0])).toEqual([
      'SESSION',
      'ses_lead',
      '└ ses_lead.a1',
      '└ ses_lead.a2',
      '',
    ]);
    const json = JSON.parse((await command(['sessions', '--limit', '1', '--json'], STORED)).out);
    expect(json.map((each: { parent: string | null }) => each.parent)).toEqual([
      null,
      'ses_lead',
      'ses_lead',
    ]);
  });
});

describe('the argument SESSION', () => {
  it('that begins an id is the session, and none of those that it called', async () => {
    const { out } = await command(['show', 'ses_le', '--json'], STORED);
    expect(JSON.parse(out).session).toBe('ses_lead');
    expect(JSON.parse((await command(['show', 'lead.a2', '--json'], STORED)).out).session).toBe(
      'ses_lead.a2',
    );
  });
});

describe('telltale why', () => {
  it('crosses from an event of a called agent to the action that called it', async () => {
    const [response] = ran.childOf('a1', 'response');
    const { out } = await command(['why', 'ses_lead.a1', String(response?.seq)], STORED);
    const [started] = ran.of('action.started');
    const lines = out.split('\n').map((line) => line.trim());
    expect(lines[0]).toMatch(/^\d+ response/);
    expect(lines).toContainEqual(
      expect.stringMatching(/^└ because 1 session\.started {2}echo .* for a1 of ses_lead/),
    );
    expect(lines).toContainEqual(expect.stringMatching(`^└ because ses_lead ${started?.seq} action.started`));
    expect(lines.at(-2)).toContain('from outside');
  });

  it('goes from a copy to the event that it is a copy of', async () => {
    const [copy] = ran.of('child.response');
    const { out } = await command(['why', 'ses_lead', String(copy?.seq), '--json'], STORED);
    expect(
      JSON.parse(out)
        .map(({ type }: SessionEvent) => type)
        .slice(0, 2),
    ).toEqual(['child.response', 'response']);
  });
});

describe('a hint that names a session', () => {
  it('names the store behind its whole id', () => {
    expect(
      namingStore('Do: telltale resume ses_a. Or: telltale fork ses_a.b1[0].c~2 SEQ', ' --store x'),
    ).toBe('Do: telltale resume ses_a --store x. Or: telltale fork ses_a.b1[0].c~2 SEQ --store x');
  });

  it('names the store where the id is that of an option, and in commands that list', () => {
    expect(
      namingStore(
        'Talk to it: telltale chat MANIFEST --resume ses_a. "telltale sessions" lists them; List: telltale sessions, telltale workflow list',
        ' --store x',
      ),
    ).toBe(
      'Talk to it: telltale chat MANIFEST --resume ses_a --store x. "telltale sessions --store x" lists them; List: telltale sessions --store x, telltale workflow list --store x',
    );
  });

  it.each([
    ['See those that wait: telltale workflow list --status waiting', ''],
    ['See "telltale sessions --status running', '" first.'],
    ['Revoke those that nobody uses: telltale token list', ' shows when each was last used.'],
    ['Choose another name, or revoke that one first: telltale token revoke ann@example.com', ''],
    ['Revoke it: telltale token revoke ci', '. Then make another.'],
    ['Its newest is 3: telltale artifact show release_gate', ''],
  ])('names the store behind all of a command: %s%s', (command, rest) => {
    expect(namingStore(`${command}${rest}`, ' --store x')).toBe(`${command} --store x${rest}`);
  });

  it('names no store where one is named, or where the command takes none', () => {
    for (const hint of ['Do: telltale sessions --store other', 'Do: telltale validate agent.yml'])
      expect(namingStore(hint, ' --store x')).toBe(hint);
  });
});

describe('telltale logs', () => {
  it('says of a copy what the event said, and whose it was', async () => {
    const { out } = await command(['logs', 'ses_lead'], STORED);
    expect(out).toMatch(/child\.response +a1 echo: Done by echo\./);
    expect(out).toMatch(/child\.turn\.completed +a1 echo: .*tokens/);
  });
});

describe('telltale cancel', () => {
  it('ends those that a session called before it, where nobody works on it', async () => {
    const { out, runtime } = await command(['cancel', 'ses_lead', '--reason', 'enough'], CUT);
    expect(out).toBe('No process worked on ses_lead. It is cancelled now.\n');
    expect(runtime.appended.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
    const [child = '', lead = ''] = runtime.appended.map(({ events }) => events.at(-1) ?? '');
    expect(decodeEvent(child, 'ses_lead.a1')).toMatchObject({
      type: 'session.cancelled',
      by: 'parent',
      reason: 'enough',
    });
    expect(decodeEvent(lead, 'ses_lead')).toMatchObject({
      type: 'session.cancelled',
      by: `user:${userInfo().username}`,
    });
  });
});
