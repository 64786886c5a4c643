import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { agentFolder } from '../agent/run-agent.ts';
import { recordedIo } from './recorded-io.ts';

const TURNS = `turns:
  - { text: '<action id="a" mode="sync">{"name":"echo","parameters":{"text":"red"}}</action>', usage: { input: 2000, output: 20, cached: 1500 } }
  - { text: '<response final="true">Done.</response>' }
`;
const MANIFEST = (instructions: string) =>
  `kind: Agent\nname: coder\nmodel: scripted:turns.yml\ninstructions: "${instructions}"\nimport: { tools: [./echo.yml] }\n`;
const ENV = { WORD: 'swordfish' };

/** A folder with an agent, and the command line in it. */
function project() {
  const cwd = agentFolder('', {
    'agent.yml': MANIFEST('Be kind. The word is ${WORD}.'),
    'turns.yml': TURNS,
    'echo.yml':
      'kind: Tool\nname: echo\ndescription: Says it again.\nimplementation: { module: ./echo.mjs }\n',
    'echo.mjs': 'export const run = ({ text }) => `${text}\\u001b[31m!`;\n',
  });
  const tell = async (...argv: string[]) => {
    const io = { ...recordedIo({ cwd, env: ENV }), clock: createSystemClock() };
    return { code: await main(argv, io), out: io.out(), err: io.err() };
  };
  return { cwd, tell };
}

async function ran() {
  const { cwd, tell } = project();
  const begun = await tell('run', 'agent.yml', 'Do it.');
  expect(begun.code).toBe(0);
  const [, session = ''] = /(ses_\w+)/.exec(begun.out) ?? [];
  return { cwd, tell, session };
}

describe('telltale prompt SESSION', () => {
  it('shows the newest turn: what it was asked with, tokens by part, and what is new', async () => {
    const { tell, session } = await ran();
    const { code, out, err } = await tell('prompt', 'last');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const lines = out.split('\n');
    expect(lines[0]).toBe(`${session}, turn 2 of 2`);
    expect(out).toMatch(
      /^agent: +coder\nmodel: +scripted:turns\.yml\ndialect: +tags\noptions: +none\nrequest: +not known \(the provider builds it\)$/m,
    );
    expect(out).toMatch(/^sent: +as shown here \(hash [0-9a-f]{32}\)$/m);
    expect(out).toMatch(/^system +instructions +\d+$/m);
    expect(out).toMatch(/^messages +turn 1 +\d+\n +turn 2 +\d+ +new\ntotal +[\d,]+$/m);
    expect(out).toMatch(/^--- user, turn 1 \(\d+ tokens\) ---\nDo it\./m);
    expect(out).toMatch(/^--- assistant, turn 2, new \(\d+ tokens\) ---\n<action id="a"/m);
    expect(out).toMatch(/^--- user, turn 2, new \(\d+ tokens\) ---\n<result id="a"/m);
    // Neither colors of its own nor what a tool would do to the terminal.
    expect(out).not.toContain('\u001b');
    expect(out).not.toContain('swordfish');
  });

  it('shows an earlier turn, and what the cache served in it', async () => {
    const { tell, session } = await ran();
    const { out } = await tell('prompt', session.slice(0, 14), '1');
    expect(out).toMatch(/^cache: +1,500 of 2,000 input tokens came from the provider's cache \(75 %\)$/m);
    expect(out).not.toContain('<result id="a"');
    expect(out).toMatch(/^--- user, turn 1, new /m);
  });

  it('prints JSON with the same in it', async () => {
    const { tell, session } = await ran();
    const prompt = JSON.parse((await tell('prompt', 'last', '2', '--json')).out);
    expect(prompt).toMatchObject({ session, turn: 2, last: 2, match: 'same', dialect: 'tags', options: {} });
    expect(prompt.messages.map((message: { new: boolean }) => message.new)).toEqual([false, true, true]);
    expect(prompt.system[0].text).toContain('The word is ${WORD}.');
  });

  it('says so where the prompt is not what was sent, and takes a manifest from elsewhere', async () => {
    const { cwd, tell } = await ran();
    writeFileSync(join(cwd, 'other.yml'), MANIFEST('Be kind. The word is ${WORD}.'));
    writeFileSync(join(cwd, 'agent.yml'), MANIFEST('Be rude.'));
    const { code, out } = await tell('prompt', 'last');
    expect(code).toBe(0);
    expect(out).toMatch(
      /^differs: +This is not what was sent\. The system prompt differs: the manifest .*agent\.yml has changed since\.$/m,
    );
    expect(out).not.toMatch(/^sent:/m);
    expect((await tell('prompt', 'last', '--manifest', 'other.yml')).out).toMatch(/^sent: +as shown here/m);
  });

  it('refuses what is not there, with what can be done', async () => {
    const { cwd, tell } = await ran();
    expect(await tell('prompt', 'last', '3')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/has no turn 3\.[\s\S]*Its last turn is 2\./),
    });
    expect(await tell('prompt', 'last', 'x')).toMatchObject({ code: 2 });
    expect(await tell('prompt', 'nothing')).toMatchObject({
      code: 1,
      err: expect.stringContaining("There is no session 'nothing'."),
    });
    writeFileSync(join(cwd, 'nothing'), '');
    expect((await tell('prompt', 'nothing')).err).toContain('write: telltale prompt ./nothing');
  });
});

describe('telltale prompt AGENT', () => {
  it('shows the prompt before any run, and makes no store', async () => {
    const { cwd, tell } = project();
    const { code, out, err } = await tell('prompt', 'agent.yml');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.split('\n')[0]).toBe('coder, before any run');
    expect(out).toMatch(/^system +instructions +\d+$/m);
    expect(out).toMatch(/^--- system: instructions \(\d+ tokens\) ---\nBe kind\. The word is \$\{WORD\}\.$/m);
    expect(out).not.toContain('swordfish');
    expect(existsSync(join(cwd, '.telltale'))).toBe(false);
    const preview = JSON.parse((await tell('prompt', './agent.yml', '--json')).out);
    expect(preview).toMatchObject({ agent: 'coder', dialect: 'tags', tools: [], options: {} });
  });

  it('shows what the provider adds to each request, without a key', async () => {
    const { cwd, tell } = project();
    writeFileSync(join(cwd, 'agent.yml'), 'kind: Agent\nname: coder\nmodel: openai/gpt-5\ndialect: step\n');
    const { out } = await tell('prompt', 'agent.yml');
    expect(out).toMatch(/^options: +\{"toolChoice":"step"\}\nrequest: +\{.*"store":false.*\}$/m);
    expect(out).toMatch(/^request: .*"tool_choice":\{"type":"function","name":"step"\}/m);
  });

  it('is meant by a slash or the ending of a manifest, whatever files are there; it has no turns', async () => {
    const { cwd, tell } = await ran();
    writeFileSync(join(cwd, 'last'), MANIFEST('Be rude.'));
    expect((await tell('prompt', 'last')).out).toMatch(/^ses_\w+, turn 2 of 2$/m);
    expect((await tell('prompt', './last')).out).toMatch(/^coder, before any run$/m);
    expect(await tell('prompt', 'agent.yml', '2')).toMatchObject({
      code: 2,
      err: expect.stringContaining("This agent has not run yet, so it has no turn '2'."),
    });
    expect((await tell('prompt', 'none.yml')).code).toBe(2);
  });
});

it('completes sessions and manifests', async () => {
  const { tell, session } = await ran();
  const { out } = await tell('__complete', '2', 'telltale', 'prompt', '');
  expect(out.split('\n').map((line) => line.split('\t')[0])).toEqual(
    expect.arrayContaining(['last', session, 'agent.yml']),
  );
});
