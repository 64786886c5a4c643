import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { type ServedDaemon, served } from './served.ts';

/** A script whose name reads otherwise than it is, and a program of which nobody knows what it runs. */
const SCRIPT = 'build\u202Ehs.sh';
const SHOWN = 'build\\u{202E}hs.sh';
const COMMAND = `sh ${SCRIPT} && bundle\u200B exec`;
const CONTENT = 'echo built > built.txt\n';
const RAW = /[\u202e\u200b]/;
const FILES = {
  'agent.yml': `kind: Agent
name: builder
model: scripted:./turns.yml
import: { tools: ["builtin:shell"] }
permissions: { shell: ask, sandbox: "off" }
`,
  'turns.yml': `turns: ${JSON.stringify([
    `<action id="a">${JSON.stringify({ name: 'shell', parameters: { command: COMMAND } })}</action>`,
    '<response final="true">Built.</response>',
    '<response final="true">Built.</response>',
  ])}\n`,
  [SCRIPT]: CONTENT,
};

interface Review {
  readonly review: string;
  readonly files?: readonly { readonly path: string; readonly content: string }[];
  readonly uncovered?: readonly string[];
  readonly replaces?: { readonly changed: readonly string[] };
  readonly answer?: string;
}

const JSON_BODY = { 'content-type': 'application/json' };
const json = async <Answer>(server: ServedDaemon, path: string, body?: object): Promise<Answer> => {
  const asked = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body), headers: JSON_BODY };
  return (await (await server.ask(path, asked)).json()) as Answer;
};

/** The open reviews of a session, once there is one. */
async function openReview(server: ServedDaemon, session: string, not?: string): Promise<Review> {
  let found: Review | undefined;
  await expect
    .poll(
      async () => {
        const { items } = await json<{ readonly items: readonly Review[] }>(
          server,
          `/reviews?session=${session}`,
        );
        found = items.find(({ review }) => review !== not);
        return found;
      },
      { timeout: 30_000 },
    )
    .toBeDefined();
  return json<Review>(server, `/reviews/${found?.review}`);
}

const hashOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;

it('a client reads over HTTP what an approval covers, approves it, and is asked again where a file has changed', {
  timeout: 120_000,
}, async () => {
  const cwd = temporaryProject(FILES);
  const server = await served(['agent.yml'], cwd);
  const { id } = await json<{ readonly id: string }>(server, '/sessions', { agent: 'builder', input: 'Go' });
  const first = await openReview(server, id);
  expect(first.files).toEqual([{ path: SCRIPT, content: hashOf(CONTENT) }]);
  expect(first.uncovered).toEqual([
    expect.stringContaining('may run files that the command line does not name'),
  ]);

  writeFileSync(join(cwd, SCRIPT), 'echo stolen > stolen.txt\n');
  expect(await json(server, `/reviews/${first.review}`, { answer: 'approved' })).toMatchObject({
    answer: 'approved',
    files: first.files,
  });
  const second = await openReview(server, id, first.review);
  expect(second.files).toEqual([{ path: SCRIPT, content: hashOf('echo stolen > stolen.txt\n') }]);
  expect(second.replaces).toMatchObject({
    review: first.review,
    changed: [expect.stringContaining('has changed')],
  });
  expect(existsSync(join(cwd, 'stolen.txt'))).toBe(false);

  await json(server, `/reviews/${second.review}`, { answer: 'approved' });
  await expect.poll(() => existsSync(join(cwd, 'stolen.txt')), { timeout: 30_000 }).toBe(true);
});

it.each([
  [
    'AG-UI',
    '/ag-ui/builder',
    {
      threadId: 't',
      runId: 'r',
      state: {},
      tools: [],
      context: [],
      forwardedProps: {},
      messages: [{ id: 'm', role: 'user', content: 'Go' }],
    },
  ],
  [
    'the AI SDK',
    '/chat/builder',
    { id: 't', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Go' }] }] },
  ],
])(
  'a client of %s is asked with what cannot be seen spelled out',
  { timeout: 60_000 },
  async (name, path, body) => {
    const server = await served(['agent.yml'], temporaryProject(FILES));
    const answer = await server.ask(path, { method: 'POST', body: JSON.stringify(body), headers: JSON_BODY });
    const events = (await answer.text())
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice('data: '.length)) as Record<string, unknown>);
    const asked = JSON.stringify(events.filter((event) => JSON.stringify(event).includes('does not cover')));
    expect([name, asked]).toEqual([name, expect.stringContaining('bundle\\\\u{200B}')]);
    const texts = (JSON.parse(asked) as readonly object[]).map((event) =>
      JSON.stringify(event, (key, value) => (key === 'input' ? undefined : value)),
    );
    expect(texts.join()).not.toMatch(RAW);
    if (name === 'AG-UI') expect(texts.join()).toContain(JSON.stringify(SHOWN).slice(1, -1));
  },
);
