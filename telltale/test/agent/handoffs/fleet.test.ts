import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fleetHome, type Started } from '../../cli/fleet-home.ts';
import { type TestDatabase, testDatabase } from '../../servers/shared-postgres.ts';

/** The tool takes as long as the test wants: until a file is there. */
const TOOL = `import { appendFileSync, existsSync } from 'node:fs';
export async function run({ until }, { idempotencyKey, signal }) {
  appendFileSync('journal', \`begin \${process.pid} \${idempotencyKey}\\n\`);
  while (!existsSync(until)) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  appendFileSync('journal', \`end \${process.pid} \${idempotencyKey}\\n\`);
  return 'held';
}
`;
const hold = (until: string) =>
  `<action mode="sync" id="a">{"name": "hold", "parameters": {"until": "${until}"}}</action>`;
const SINCE = 'Since the first of March, when you paid the last of the three invoices that were open.';
const FILES = {
  'hold.mjs': TOOL,
  'hold.yml': `kind: Tool
name: hold
idempotent: true
parameters: { type: object, properties: { until: { type: string } }, required: [until] }
implementation: { module: ./hold.mjs }
`,
  'agent.yml': `kind: Agent
name: triage
model: scripted:./triage.yml
handoff: [billing]
import: { agents: [./billing.yml], tools: [./hold.yml] }
`,
  'triage.yml': `turns:
  - '${hold('first')}'
  - '<action id="h">{"name": "handoff", "parameters": {"to": "billing"}}</action><response final="true">One moment.</response>'
`,
  'billing.yml': `kind: Agent
name: billing
model: scripted:./billing.turns.yml
import: { tools: [./hold.yml] }
`,
  'billing.turns.yml': `tokens_per_second: 20
turns:
  - '${hold('second')}'
  - '<response final="true">You owe nothing.</response>'
  - '<response final="true">${SINCE}</response>'
`,
};

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.remove());

interface LoggedEvent {
  readonly type: string;
  readonly action?: string;
  readonly text?: string;
  readonly event?: { readonly text?: string; readonly final?: boolean };
}

/** A client of the server that follows the session, and what it was sent. */
async function follow(server: Started, session: string) {
  const { url, token } = JSON.parse(server.out()) as { readonly url: string; readonly token: string };
  const abort = new AbortController();
  const answer = await fetch(`${url}/sessions/${session}/events`, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    signal: abort.signal,
  });
  let text = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of answer.body ?? []) text += decoder.decode(bytes, { stream: true });
  })().catch(() => undefined); // the connection is cut below
  return {
    heard: () => text,
    leave: () => {
      abort.abort();
      return reading;
    },
  };
}

describe('a conversation in a fleet', () => {
  it('goes on exactly once on other workers when the one that has it is killed before and after the handoff', async () => {
    const home = fleetHome(FILES, `${database.url}?schema=desk&lease=1500`);
    const server = await home.start('serve', 'agent.yml', '--port', '0', '--capacity', '1');
    const eventsOf = async (session: string) =>
      (await server.get(`/sessions/${session}/events?limit=500`)).items as readonly LoggedEvent[];
    const start = async () =>
      String(
        (await server.post('/sessions', { agent: 'triage', input: 'What do I owe?', chat: true })).body.id,
      );
    const begunBy = (worker: Started, session: string) => () =>
      home.journal().filter((line) => line.startsWith(`begin ${worker.pid} ${session}`)).length;

    await start(); // takes the server's only place, and stays there
    const first = await home.start('worker', '--capacity', '8');
    const session = await start();
    await expect.poll(begunBy(first, `${session}:a`), { timeout: 20_000 }).toBe(1);
    await first.kill();

    const second = await home.start('worker', '--capacity', '8');
    await expect.poll(begunBy(second, `${session}:a`), { timeout: 20_000 }).toBe(1);
    home.write('first', '');
    const billing = `${session}.speaker.billing`;
    await expect.poll(begunBy(second, `${billing}:a`), { timeout: 20_000 }).toBe(1);
    await second.kill();

    const third = await home.start('worker', '--capacity', '8');
    await expect.poll(begunBy(third, `${billing}:a`), { timeout: 20_000 }).toBe(1);
    home.write('second', '');
    const answers = async () =>
      (await eventsOf(session)).flatMap((event) => {
        if (event.type === 'response') return [event.text];
        return event.type === 'child.response' ? [`${event.action}: ${event.event?.text}`] : [];
      });
    const expected = ['One moment.', 'speaker:billing: You owe nothing.'];
    await expect.poll(answers, { timeout: 20_000 }).toEqual(expected);
    // A message to the conversation reaches the agent that has it, wherever that is.
    const follower = await follow(server, session);
    await server.post(`/sessions/${session}/say`, { text: 'Since when?' });
    await expect.poll(answers, { timeout: 20_000 }).toEqual([...expected, `speaker:billing: ${SINCE}`]);
    // Its answer reached the server's client piece by piece, from the worker.
    await expect.poll(follower.heard).toMatch(/"type":"response\.delta"[^\n]*"speaker":"billing"/);
    await follower.leave();
    const log = await eventsOf(session);
    expect(log.filter(({ type }) => type === 'handoff')).toHaveLength(1);
    const told = (await eventsOf(billing)).filter(({ type }) => type === 'message.received');
    expect(told.map(({ text }) => text)).toEqual(['Since when?']);
    const ends = home.journal().filter((line) => line.startsWith('end') && line.includes(session));
    expect(ends.map((line) => line.split(' ')[2])).toEqual([`${session}:a`, `${billing}:a`]);
  }, 180_000);
});
