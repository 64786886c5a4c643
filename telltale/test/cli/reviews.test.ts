import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ReviewDetails } from '../../src/agent/reviews/read-review.ts';
import { signer } from '../../src/cli/program.ts';
import { reviewLines } from '../../src/cli/review/review-lines.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { identityText } from '../../src/lib/ids.ts';
import { openStore } from '../../src/store/open-store.ts';
import { request, runThatAsks } from '../agent/reviews/run-that-asks.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { spawned, telltale } from './spawned.ts';

const AGENT = `kind: Agent
name: worker
model: scripted:./turns.yml
import: { tools: ["builtin:shell"] }
permissions: { shell: ask, sandbox: "off" }
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

const SHOWN = { session: 'run_9', agent: 'a', action: 's', target: 't', because: 'b', status: 'open', at: 0 };

describe('a command that a person has to approve, without a terminal', { timeout: 60_000 }, () => {
  it('waits with exit code 3, and says how to answer and go on', async () => {
    const cwd = project();
    const { code, err } = await telltale(RUN, cwd);
    const [open] = await json(['reviews'], cwd);
    expect(code).toBe(3);
    expect(err).toContain('waiting: The session is waiting for a person.');
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
    expect((await telltale(['reviews'], cwd)).out).toMatch(
      / permission +just now +- +worker +tool "shell": touch made/,
    );
    expect((await telltale(['reviews', 'show', 'last'], cwd)).out).toMatch(
      /always {6}this exact call, .*"command": "touch made".* approve rev_\w+ --always\n/s,
    );
    const by = ['--by', 'ann', '--note', 'fine', '--always'];
    const approved = await telltale(['reviews', 'approve', 'last', ...by], cwd);
    expect(approved).toMatchObject({ code: 0, out: expect.stringContaining('telltale resume ses_') });
    expect((await telltale(['reviews'], cwd)).out).toContain('Nothing waits for a person');
    expect(await telltale(['resume', 'last', '--quiet'], cwd)).toMatchObject({ code: 0, out: 'Done.\n' });
    expect(existsSync(join(cwd, 'made'))).toBe(true);
    expect((await telltale(['logs', 'last', '--type', 'review'], cwd)).out).toContain(
      `approved for this session by ${identityText(signer())} (for ann): fine`,
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
    expect(again.code).toBe(1);
    expect(again.err).toMatch(new RegExp(`error: The review ${review} was rejected by \\S+ at 2`));
    expect(again.err).toContain(`telltale reviews show ${review}`);
    expect((await telltale(['resume', 'last', '--quiet'], cwd)).code).toBe(0);
    expect(existsSync(join(cwd, 'made'))).toBe(false);
  });

  it('is withdrawn when its session is cancelled', async () => {
    const cwd = project();
    await telltale(RUN, cwd);
    const [{ review }] = await json(['reviews'], cwd);
    await telltale(['cancel', 'last'], cwd);
    expect(await json(['reviews'], cwd)).toEqual([]);
    expect((await json(['sessions'], cwd))[0]).toMatchObject({ status: 'cancelled' });
    const late = await telltale(['reviews', 'approve', review], cwd);
    expect(late).toMatchObject({ code: 1, out: '' });
    expect(late.err).toContain('was withdrawn by');
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

  it('stays approved for the session after a kill of the process that it was approved in', async () => {
    const cwd = temporaryProject({
      'agent.yml': AGENT,
      'turns.yml': `tokens_per_second: 100
turns:
  - '<action id="s">{"name": "shell", "parameters": {"command": "echo hi"}}</action>'
  - '<thought>${'Once more. '.repeat(10)}</thought><action id="s2">{"name": "shell", "parameters": {"command": "echo hi"}}</action>'
  - <response>Done.</response>
`,
    });
    await telltale(RUN, cwd);
    await telltale(['reviews', 'approve', 'last', '--always'], cwd);
    const { child, says, ended } = spawned(['resume', 'last', '--events'], cwd);
    await says('action.completed');
    child.kill('SIGKILL');
    await ended;
    const { out } = await telltale(['logs', 'last', '--type', 'action.completed'], cwd);
    expect(out).not.toContain('s2');
    expect(await telltale(['resume', 'last', '--quiet'], cwd)).toMatchObject({ code: 0, out: 'Done.\n' });
    const log = await telltale(['logs', 'last', '--type', 'review.resolved', '--json'], cwd);
    const [asked, standing] = log.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(standing).toMatchObject({ answer: 'approved', standing: asked.review });
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
    expect(out).toContain(`Continue with:\n  ${resume}`);
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

describe('questions of every kind', { timeout: 60_000 }, () => {
  /** A store in which a step of a run asks one question of each kind. */
  async function inbox() {
    const cwd = temporaryProject({ 'agent.yml': AGENT });
    const store = await openStore('sqlite:.telltale/telltale.db', {
      cwd,
      clock: createSystemClock(),
      durability: 'process',
    });
    const yesOrNo = ['approve', 'reject'];
    const input = { to: 'prod' };
    await runThatAsks(store, 'run_9', [
      { ...request(undefined, 'rev_a1', ['ship', 'wait']), assignee: 'ann', due: 4e12 },
      request('confirm', 'rev_b2', yesOrNo),
      request('plan', 'rev_c3', yesOrNo),
      request('escalation', 'rev_d4', ['pass', 'retry', 'fail']),
      {
        review: 'rev_e5',
        step: 'build',
        prompt: 'call tool "deploy"',
        options: yesOrNo,
        call: { target: 'tool "deploy"', because: 'approval: always', input, grants: [], definition: 'abc' },
        replaces: { review: 'rev_d0', changed: ['"to" is "prod", and was "test"'] },
      },
    ]);
    await store.close();
    return cwd;
  }

  it('are listed with their kind, whom they ask, whose they are and what they ask', async () => {
    const cwd = await inbox();
    const { out } = await telltale(['reviews'], cwd);
    expect(out.split('\n').map((line) => line.replace(/ {2,}/g, '  '))).toEqual([
      'REVIEW  KIND  ASKED  ASSIGNEE  FROM  QUESTION',
      'rev_a1  approval  just now  ann  tester/flow  What of undefined?',
      'rev_b2  confirm  just now  -  tester/flow  What of confirm?',
      'rev_c3  plan  just now  -  tester/flow  What of plan?',
      'rev_d4  escalation  just now  -  tester/flow  What of escalation?',
      'rev_e5  permission  just now  -  tester/flow  call tool "deploy" {"to":"prod"}',
      expect.stringContaining('telltale reviews show REVIEW'),
      '',
    ]);
    const ids = async (...argv: string[]) =>
      (await json(['reviews', ...argv], cwd)).map(({ review }: { review: string }) => review);
    expect(await ids('--kind', 'plan')).toEqual(['rev_c3']);
    expect(await ids('--assignee', 'ann')).toEqual(['rev_a1']);
    expect(await ids('--run', 'run_9', '--kind', 'confirm')).toEqual(['rev_b2']);
    expect(await telltale(['reviews', '--assignee', 'zoe'], cwd)).toMatchObject({
      code: 0,
      out: 'Nothing that matches waits for a person in sqlite:.telltale/telltale.db.\n',
    });
    expect(await telltale(['reviews', '--run', 'run_8'], cwd)).toMatchObject({ code: 1 });
    expect(await telltale(['reviews', '--kind', 'wish'], cwd)).toMatchObject({ code: 2 });
  });

  it('are shown whole, with the commands that answer them', async () => {
    const cwd = await inbox();
    const shown = async (review: string) => (await telltale(['reviews', 'show', review], cwd)).out;
    const escalation = await shown('rev_d4');
    expect(escalation).toContain(
      'run         run_9 (flow of tester)\ncalled by   ses_9\nstep        build\n',
    );
    expect(escalation).toContain(
      'Notes of report 1, by ses_9 after 3 turns\n  Built it and ran the tests.\n  Two are red.\n',
    );
    expect(escalation).toContain(
      'Verifier on report 1: retry (high), by model fast\n  Red tests are no success.\n  It asks for: Mend them.\n',
    );
    expect(escalation).toContain(
      "  telltale reviews answer rev_d4 'what the agent is to do'\n  telltale reviews answer rev_d4 --choice pass\n",
    );
    expect(await shown('rev_c3')).toContain('Plan\n  1. deploy {"to":"prod"}\n     expects result.ok\n');
    const plan = [{ action: 'deploy', parameters: { to: 'prod' } }];
    const asked = {
      review: 'rev_c4',
      kind: 'plan',
      of: 'run',
      what: 'Do it?\n\n1. deploy {"to":"prod"}',
      plan,
    };
    const lines = reviewLines({ ...SHOWN, ...asked } as ReviewDetails, {
      now: 0,
      flag: '',
      program: 'telltale',
    }).join('\n');
    expect(lines.split('deploy {"to":"prod"}')).toHaveLength(2); // once, in the question
    const permission = await shown('rev_e5');
    expect(permission).toContain('because     approval: always\n');
    expect(permission).toContain('Parameters\n  {\n    "to": "prod"\n  }\n');
    expect(permission).toContain(
      'It is asked in place of rev_d0, because\n  - "to" is "prod", and was "test"\n',
    );
    expect(permission).toContain('  telltale reviews approve rev_e5\n');
    expect(await shown('a1')).toContain('due         2096-10-02T07:06:40.000Z\n');
    expect(await json(['reviews', 'show', 'rev_d4'], cwd)).toMatchObject({
      kind: 'escalation',
      status: 'open',
      session: 'run_9',
      work: { verdicts: [{ assessment: 'retry' }] },
    });
  });

  it('are answered by words and choices, once, and shown with who answered', async () => {
    const cwd = await inbox();
    const say = (...argv: string[]) => json(['reviews', ...argv, '--by', 'bob'], cwd);
    expect(await say('answer', 'rev_d4', 'Mend the two.')).toMatchObject({
      kind: 'escalation',
      answer: 'rejected',
      choice: 'retry',
      by: `${signer()} (for bob)`,
      outcome: 'resolved',
      pid: null,
    });
    expect(await say('answer', 'rev_a1', 'before noon', '--choice', 'ship')).toMatchObject({
      choice: 'ship',
    });
    expect(await say('approve', 'rev_c3')).toMatchObject({ answer: 'approved' });
    const { out } = await telltale(['reviews', 'show', 'rev_d4'], cwd);
    expect(out).toContain(`status      rejected (retry) by ${identityText(signer())} (for bob), 2`);
    expect(out).toMatch(/ 2\S+: Mend the two\.\n/);
    expect((await json(['reviews', 'show', 'rev_a1'], cwd)).decision).toMatchObject({
      answer: 'approved',
      choice: 'ship',
      by: `${signer()} (for bob)`,
      note: 'before noon',
      at: expect.stringMatching(/^2/),
    });
    const again = await telltale(['reviews', 'reject', 'rev_a1'], cwd);
    expect(again.code).toBe(1);
    expect(again.err).toContain(
      `error: The review rev_a1 was approved ("ship") by ${identityText(signer())} (for bob) at 2`,
    );
    expect(again.err).toMatch(/\n {2}telltale reviews reject rev_a1\n.* It can be decided only once/);
    expect(await telltale(['reviews', 'reject', 'rev_b2', '--by', ' '], cwd)).toMatchObject({ code: 2 });
    const user = await json(['reviews', 'reject', 'rev_b2'], cwd);
    expect(user.by).toBe(`user:${userInfo().username}`);
  });

  it('refuse what is no answer, and say what is', async () => {
    const cwd = await inbox();
    const fails = async (...argv: string[]) => {
      const { code, err } = await telltale(['reviews', ...argv], cwd);
      expect(code).toBe(1);
      return err;
    };
    expect(await fails('approve', 'rev_a1', '--choice', 'shipp')).toContain('Did you mean "ship"?');
    expect(await fails('answer', 'rev_a1', 'maybe')).toContain('Answer with one of these: ship, wait.');
    expect(await fails('approve', 'last')).toContain('rev_e5, rev_d4');
    expect(await fails('show', 'rev_none')).toContain('"telltale reviews" lists them');
    expect(await json(['reviews'], cwd)).toHaveLength(5);
  });
});
