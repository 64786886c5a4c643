import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { spawned, telltale } from './spawned.ts';

const handoff = (to: string, more = '') =>
  `<action id="h" type="internal">{"name": "handoff", "parameters": {"to": "${to}"${more}}}</action>`;
const final = (text: string) => `<response final="true">${text}</response>`;
const turns = (...all: readonly string[]) => `turns:\n${all.map((turn) => `  - '${turn}'\n`).join('')}`;
const FILES = {
  'agent.yml': `kind: Agent
name: triage
model: scripted:./triage.yml
models: { fast: scripted:./fast.yml }
handoff: [billing, { to: manager, carry: summary }]
import: { agents: [./billing.yml, ./manager.yml] }
`,
  'triage.yml': turns(`${handoff('billing', ', "reason": "An invoice"')}${final('One moment.')}`),
  'billing.yml': `kind: Agent
name: billing
model: scripted:./billing.turns.yml
handoff: [{ to: manager, if: "agent.iteration_count > 0", carry: summary }]
import: { agents: [./manager.yml] }
`,
  'billing.turns.yml': turns(final('40 euros too much.'), final('Since March.')),
  'manager.yml': 'kind: Agent\nname: manager\nmodel: scripted:./manager.turns.yml\n',
  'manager.turns.yml': turns(final('Credited.'), final('You are welcome.')),
  'fast.yml': turns('The customer was billed twice.'),
};

let cwd = '';
let session = '';
const run = async (...argv: readonly string[]) => {
  const { code, out, err } = await telltale(argv, cwd);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
};
const seqOf = async (type: string, of = session) =>
  Number(new RegExp(`^ *(\\d+) .* ${type.replace('.', '\\.')} `, 'm').exec(await run('logs', of))?.[1]);

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'telltale-desk-'));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(cwd, name), text);
  const out = await run('run', 'agent.yml', 'My invoice is wrong.', '--json');
  ({ session } = JSON.parse(out) as { session: string });
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

describe('the commands on a conversation that moved', () => {
  it('print who says what, in a pipe', async () => {
    const out = await run('run', 'agent.yml', 'My invoice is wrong.');
    expect(out.match(/^(?:response|handoff) .*/gm)).toEqual([
      'response          One moment.',
      'handoff           triage → billing: An invoice',
      'response          billing: 40 euros too much.',
      'handoff           billing → manager: agent.iteration_count > 0',
      'response          manager: Credited.',
    ]);
  });

  it('"show" says who has the conversation, and what was said last, by whom', async () => {
    const out = await run('show', session);
    expect(out).toContain(`speaks     manager (${session}.speaker.manager)`);
    expect(out).toContain('Last response of manager\n  Credited.');
    expect(JSON.parse(await run('show', session, '--json'))).toMatchObject({
      speaker: { agent: 'manager', session: `${session}.speaker.manager` },
      response: { agent: 'manager', text: 'Credited.', final: true },
    });
  });

  it('"logs" has what every agent said, with its name', async () => {
    const out = await run('logs', session);
    expect(out).toMatch(/child\.response +billing: 40 euros too much\./);
    expect(out).toMatch(/child\.turn\.started +manager: turn/);
  });

  it('"why" goes from an answer to the handoff, and from there to what asked for it', async () => {
    const why = await run('why', session, String(await seqOf('child.response')));
    expect(why.match(/handoff(?:\.requested)?|response|session\.started/g)).toEqual([
      'child.response'.slice('child.'.length),
      'response',
      'session.started',
      'handoff',
      'handoff.requested',
      'session.started',
    ]);
  });

  it('"prompt" shows what the next agent was told: messages, or a summary where that was asked for', async () => {
    const billing = await run('prompt', `${session}.speaker.billing`);
    expect(billing).toContain('triage handed it to you. Why: An invoice');
    expect(billing).toContain('user: My invoice is wrong.\ntriage: One moment.');
    const manager = await run('prompt', `${session}.speaker.manager`);
    expect(manager).toContain('What was said, in short:\nThe customer was billed twice.');
    expect(manager).toContain('The user said last:\nMy invoice is wrong.');
    expect(manager).not.toContain('40 euros');
  });

  it('"fork" and "resume" go on with the agent that had the conversation there, and nobody speaks twice', async () => {
    const events = (await run('logs', session, '--json')).trim().split('\n');
    const handoffs = events
      .map((line) => JSON.parse(line) as { seq: number; type: string })
      .filter(({ type }) => type === 'handoff');
    for (const { seq } of handoffs) {
      const { session: fork } = JSON.parse(await run('fork', session, String(seq), '--json'));
      await run('resume', fork);
      const log = (await run('logs', fork, '--json'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      const said = log.flatMap(({ type, action, event }) =>
        type === 'child.response' ? [`${action}: ${event.text}`] : [],
      );
      expect(said).toEqual(['speaker:billing: 40 euros too much.', 'speaker:manager: Credited.']);
      expect(await run('show', fork)).toContain(`speaks     manager (${fork}.speaker.manager)`);
    }
  });

  it('"resume" of another agent’s session says whose conversation to resume', async () => {
    const { code, err } = await telltale(['resume', `${session}.speaker.billing`], cwd);
    expect(code).not.toBe(0);
    expect(err).toContain(session);
  });
});

describe('"chat", "steer" and "cancel"', () => {
  const CHAT = {
    ...FILES,
    'billing.yml': 'kind: Agent\nname: billing\nmodel: scripted:./billing.turns.yml\n',
  };

  it('reach the agent that has the conversation, also when a chat is resumed', async () => {
    const folder = temporaryProject(CHAT);
    const first = spawned(['chat', 'agent.yml', '--quiet'], folder, { stdin: 'pipe' });
    first.child.stdin?.end('My invoice is wrong.\n');
    expect((await first.ended).out).toBe('One moment.\n40 euros too much.\n');
    const second = spawned(['chat', 'agent.yml', '--resume', 'last', '--quiet'], folder, { stdin: 'pipe' });
    second.child.stdin?.end('Since when?\n');
    expect((await second.ended).out).toBe('Since March.\n');
  });

  it('end the conversation with all of its agents', async () => {
    const folder = temporaryProject({
      ...CHAT,
      'billing.yml': `kind: Agent
name: billing
model: scripted:./billing.turns.yml
import: { tools: [./pay.yml] }
`,
      'billing.turns.yml': turns('<action id="p">{"name": "pay"}</action>', final('Paid.')),
      'pay.yml': 'kind: Tool\nname: pay\napproval: always\nimplementation: { script: "1" }\n',
    });
    const { code, out } = await telltale(['run', 'agent.yml', 'Pay.', '--json'], folder);
    expect(code).toBe(3);
    const { session: waiting } = JSON.parse(out) as { session: string };
    expect((await telltale(['steer', waiting, 'Hurry.'], folder)).code).toBe(0);
    expect((await telltale(['cancel', waiting], folder)).code).toBe(0);
    for (const id of [waiting, `${waiting}.speaker.billing`])
      expect((await telltale(['show', id], folder)).out).toMatch(/^status +cancelled/m);
  });

  it('go on after an approval that another agent asked for', async () => {
    const folder = temporaryProject({
      ...CHAT,
      'billing.yml': `kind: Agent
name: billing
model: scripted:./billing.turns.yml
import: { tools: [./pay.yml] }
`,
      'billing.turns.yml': turns('<action id="p">{"name": "pay"}</action>', final('Paid.')),
      'pay.yml': 'kind: Tool\nname: pay\napproval: always\nimplementation: { script: "1" }\n',
    });
    const { out } = await telltale(['run', 'agent.yml', 'Pay.', '--json'], folder);
    const { session: waiting, reviews } = JSON.parse(out) as {
      session: string;
      reviews: readonly { review: string }[];
    };
    expect((await telltale(['reviews', 'approve', reviews[0]?.review ?? ''], folder)).code).toBe(0);
    const resumed = await telltale(['resume', waiting, '--json'], folder);
    expect(JSON.parse(resumed.out)).toMatchObject({ status: 'completed', result: 'Paid.' });
  });
});
