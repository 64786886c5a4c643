import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { spawned, telltale } from './spawned.ts';

const AGENT = `kind: Agent
name: worker
model: scripted:./turns.yml
import: { tools: ["builtin:shell"] }
permissions: { shell: ask }
`;
const TURNS = `turns:
  - '<action id="s">{"name": "shell", "parameters": {"command": "touch made"}}</action>'
  - <response>Done.</response>
`;
const project = () => temporaryProject({ 'agent.yml': AGENT, 'turns.yml': TURNS });
const withLead = () =>
  temporaryProject({
    'lead.yml':
      'kind: Agent\nname: lead\nmodel: scripted:./lead-turns.yml\nimport: { agents: [./agent.yml] }\n',
    'lead-turns.yml': `turns:
  - '<action id="w" type="agent">{"name": "worker", "parameters": {"input": "Go."}}</action>'
  - <response>It says $w</response>
`,
    'agent.yml': AGENT,
    'turns.yml': TURNS,
  });
const json = async (argv: readonly string[], cwd: string) =>
  JSON.parse((await telltale([...argv, '--json'], cwd)).out);
const RUN = ['run', 'agent.yml', 'Go'];

describe('a command that a person has to approve, without a terminal', { timeout: 60_000 }, () => {
  it('waits with exit code 3, and says how to answer and go on', async () => {
    const cwd = project();
    const { code, err } = await telltale(RUN, cwd);
    const [open] = await json(['reviews'], cwd);
    expect(code).toBe(3);
    expect(err).toContain('waiting: The session waits for a person.');
    expect(err).toContain('tool "shell" asks: touch made');
    expect(err).toContain(`telltale reviews approve ${open.review}`);
    expect(err).toContain(`telltale resume ${open.session}`);
    expect(open).toMatchObject({ agent: 'worker', action: 's', what: 'touch made', target: 'tool "shell"' });
    expect(existsSync(join(cwd, 'made'))).toBe(false);
    expect((await json(['sessions'], cwd))[0]).toMatchObject({ status: 'waiting' });
  });

  it('is listed, shown, approved and then done', async () => {
    const cwd = project();
    await telltale(RUN, cwd);
    expect((await telltale(['reviews'], cwd)).out).toMatch(/worker .* s .*tool "shell": touch made/);
    expect((await telltale(['reviews', 'show', 'last'], cwd)).out).toContain('"command": "touch made"');
    const approved = await telltale(['reviews', 'approve', 'last', '--by', 'ann', '--note', 'fine'], cwd);
    expect(approved).toMatchObject({ code: 0, out: expect.stringContaining('telltale resume ses_') });
    expect((await telltale(['reviews'], cwd)).out).toContain('Nothing waits for a person');
    expect(await telltale(['resume', 'last', '--quiet'], cwd)).toMatchObject({ code: 0, out: 'Done.\n' });
    expect(existsSync(join(cwd, 'made'))).toBe(true);
    expect((await telltale(['logs', 'last', '--type', 'review'], cwd)).out).toContain(
      'approved by ann: fine',
    );
  });

  it('is rejected, and cannot be decided twice', async () => {
    const cwd = project();
    await telltale(RUN, cwd);
    const [{ review }] = await json(['reviews'], cwd);
    expect(await json(['reviews', 'reject', review.slice(-6)], cwd)).toMatchObject({
      review,
      answer: 'rejected',
      outcome: 'resolved',
      pid: null,
    });
    const again = await telltale(['reviews', 'approve', review], cwd);
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining('nothing waits for a person') });
    expect((await telltale(['resume', 'last', '--quiet'], cwd)).code).toBe(0);
    expect(existsSync(join(cwd, 'made'))).toBe(false);
  });

  it('is withdrawn when its session is cancelled', async () => {
    const cwd = project();
    await telltale(RUN, cwd);
    await telltale(['cancel', 'last'], cwd);
    expect(await json(['reviews'], cwd)).toEqual([]);
    expect((await json(['sessions'], cwd))[0]).toMatchObject({ status: 'cancelled' });
  });

  it('survives a kill while it waits: declared once, asked once', async () => {
    const cwd = project();
    const { child, says, ended } = spawned([...RUN, '--events'], cwd);
    await says('review.requested');
    child.kill('SIGKILL');
    await ended;
    const [open] = await json(['reviews'], cwd);
    await telltale(['reviews', 'approve', open.review], cwd);
    expect(await telltale(['resume', 'last', '--quiet'], cwd)).toMatchObject({ code: 0 });
    const types = (await telltale(['logs', 'last', '--json'], cwd)).out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).type);
    for (const type of ['action.declared', 'review.requested', 'review.resolved', 'action.completed'])
      expect(
        types.filter((each) => each === type),
        type,
      ).toHaveLength(1);
    expect(types).not.toContain('action.interrupted');
  });

  it('of a called agent is told by its caller, and gone on with by resuming that', async () => {
    const cwd = withLead();
    const { child, says, ended } = spawned(['run', 'lead.yml', 'Go', '--events'], cwd);
    await says('waits for a person');
    child.kill('SIGKILL');
    await ended;
    const [lead] = await json(['sessions'], cwd);
    const resume = `telltale resume ${lead.session}\n`;
    expect((await telltale(['steer', `${lead.session}.w`, 'Hurry.'], cwd)).out).toContain(resume);
    const { out } = await telltale(['reviews', 'approve', 'last'], cwd);
    expect(out).toContain(`go on with:\n  ${resume}`);
    expect(await telltale(['resume', lead.session, '--quiet'], cwd)).toMatchObject({
      code: 0,
      out: 'It says Done.\n',
    });
  });

  it('says so where there is nothing to answer', async () => {
    const cwd = project();
    expect(await telltale(['reviews'], cwd)).toMatchObject({
      code: 0,
      out: expect.stringContaining('Nothing waits'),
    });
    expect(await telltale(['reviews', 'approve', 'x'], cwd)).toMatchObject({ code: 1 });
  });
});
