import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { recordedIo } from './recorded-io.ts';

const AGENT = `kind: Agent
name: keeper
model: scripted:none.yml
context_variables: { runtime: [{ name: who, default: nobody }] }
context_feeds:
  - { id: clock, source: { type: internal, action: system_clock, params: { format: unix } } }
  - { id: lines, type: periodic, interval: 60, source: { type: file, name: notes.txt }, max_tokens: 12 }
  - { id: gone, source: { type: file, name: missing.txt } }
  - { id: off, enabled: false, source: { type: metadata } }
`;

async function feeds(argv: readonly string[], files: Readonly<Record<string, string>> = {}) {
  const cwd = temporaryProject({
    'agent.yml': AGENT,
    'plain.yml': 'kind: Agent\nname: plain\nmodel: scripted:x.yml\n',
    ...files,
  });
  const abort = new AbortController();
  const io = { ...recordedIo({ cwd }), clock: createSystemClock(), signal: abort.signal };
  const code = main(['feeds', ...argv, '--store', 'memory'], io);
  return { code, io, abort, ended: async () => ({ code: await code, out: io.out(), err: io.err() }) };
}

const run = async (...given: Parameters<typeof feeds>) => (await feeds(...given)).ended();

describe('telltale feeds', { timeout: 60_000 }, () => {
  it('lists the feeds of an agent without loading any, as a table or as JSON', async () => {
    const { code, out } = await run(['agent.yml']);
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.split(/\s{2,}/))).toEqual([
      ['FEED', 'TYPE', 'SHOWN', 'ENABLED', 'SOURCE'],
      ['clock', 'on_demand', 'on_change', 'yes', 'internal system_clock'],
      ['lines', 'every 1 min 0 s', 'on_change', 'yes', 'file "notes.txt"'],
      ['gone', 'on_demand', 'on_change', 'yes', 'file "missing.txt"'],
      ['off', 'on_demand', 'on_change', 'no', 'metadata'],
      [''],
    ]);
    const json = await run(['agent.yml', '--json']);
    expect(JSON.parse(json.out)).toHaveLength(4);
    expect((await run(['plain.yml'])).out).toBe('The agent plain has no context feeds.\n');
  });

  it('reads a $name that stands for nothing as text, whatever it is called', async () => {
    const choice = '{ type: internal, action: random, params: { choices: ["$constructor"] } }';
    const odd = `kind: Agent\nname: odd\nmodel: scripted:x.yml\ncontext_feeds: [{ id: odd, source: ${choice} }]\n`;
    expect(await run(['odd.yml', 'odd'], { 'odd.yml': odd })).toMatchObject({
      code: 0,
      out: '$constructor\n',
    });
  });

  it('loads one, prints what the model would see, and on stderr what it takes', async () => {
    const { code, out, err } = await run(['agent.yml', 'clock']);
    expect(code).toBe(0);
    expect(Number(out)).toBeGreaterThan(1.7e9);
    expect(err).toMatch(/^clock: \d+ tokens?, /);
  });

  it('cuts at a line and says how much is missing; --json has the figures', async () => {
    const files = { 'notes.txt': 'one two three four\n'.repeat(40) };
    const { out, err } = await run(['agent.yml', 'lines'], files);
    expect(
      out
        .split('\n')
        .filter((line) => line !== '')
        .every((line) => line === 'one two three four'),
    ).toBe(true);
    expect(err).toMatch(/about \d+ tokens left out/);
    const json = JSON.parse((await run(['agent.yml', 'lines', '--json'], files)).out);
    expect(json).toMatchObject({ id: 'lines', truncated: expect.any(Number), ms: expect.any(Number) });
    expect(json.tokens).toBeLessThanOrEqual(12);
  });

  it.each([
    ['a feed whose source fails', ['agent.yml', 'gone'], 1, /missing\.txt/],
    ['one that is switched off', ['agent.yml', 'off'], 1, /switched off/],
    ['one that there is not', ['agent.yml', 'clok'], 2, /Did you mean "clock"/],
    ['--watch without a feed', ['agent.yml', '--watch'], 2, /--watch needs the name of a feed/],
    ['a manifest that there is not', ['nope.yml'], 2, /nope\.yml/],
    ['a variable that is none', ['agent.yml', 'clock', '--var', 'who'], 2, /--var/],
  ])('says what is wrong with %s', async (_, argv, expected, message) => {
    const { code, err } = await run(argv);
    expect(err).toMatch(message);
    expect(code).toBe(expected);
  });

  it('watches a feed until it is interrupted', async () => {
    const { io, abort, code } = await feeds(['agent.yml', 'clock', '--watch']);
    while (io.out().split('\n').length < 3) await new Promise((resolve) => setTimeout(resolve, 20));
    abort.abort();
    await code;
    expect(new Set(io.out().trim().split('\n')).size).toBeGreaterThan(1);
  });
});
