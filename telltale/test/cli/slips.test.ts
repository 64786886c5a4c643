import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { eventList, started } from './event-list.ts';
import { recordedIo } from './recorded-io.ts';
import { command } from './run-command.ts';

async function said(argv: readonly string[], files: Readonly<Record<string, string>> = {}) {
  const cwd = temporaryProject(files);
  const io = recordedIo({ cwd });
  const code = await main(argv, io);
  return { code, out: io.out(), err: io.err(), left: readdirSync(cwd).sort() };
}

describe('a slip on the command line', () => {
  it('with a text that is not in quotes is told so, and no caret points at the command', async () => {
    const { code, err } = await said(['run', 'agent.yml', 'Fix', 'the', 'test']);
    expect(code).toBe(2);
    expect(err).toContain('Too many arguments for "run".');
    expect(err).toContain('→ Put quotes around a text of several words.');
    expect(err).not.toContain('^');
  });

  it('of a command is answered with those that are meant for people', async () => {
    const { err } = await said(['help', 'nosuch']);
    expect(err).toContain('store, token, doctor, help');
    expect(err).not.toContain('__complete');
  });

  it('of a command of reviews names the nearest one', async () => {
    const { code, err } = await said(['reviews', 'aprove']);
    expect(code).toBe(2);
    expect(err).toContain("'aprove' is not a reviews command.");
    expect(err).toContain('→ Did you mean "approve"?');
  });

  it('with an empty message says how to say one', async () => {
    const fake = { logs: [eventList([[0, started()]])] };
    const { code, err } = await command(['steer', 'last', ''], fake);
    expect(code).toBe(2);
    expect(err).toContain('→ Add the message after the session: telltale steer last "what to say"');
  });

  it('with a folder that is not there lists nothing in its place', async () => {
    const { code, out, err } = await said(['inspect', '--in', 'nope']);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^error: --in 'nope' does not exist\.\n/);
  });

  it.each(['abc', '-1', '70000', ''])('with the port %o says what a port is', async (port) => {
    const { code, err } = await said(['mcp', '--http', port], { 'agent.yml': 'kind: Agent\nname: a\n' });
    expect(code).toBe(2);
    expect(err).toContain('is not a port.');
    expect(err).toContain('→ Write a number up to 65535, or 0 for any free port.');
  });

  it('in a manifest is shown to who serves it over MCP as validate shows it', async () => {
    const files = { 'agent.yml': 'kind: Agent\nname: a\nmodle: x\n' };
    const { code, out, err } = await said(['mcp', '--store', 'memory'], files);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toBe((await said(['validate', 'agent.yml'], files)).out);
  });

  it('with a store of one machine makes no file for a worker', async () => {
    const files = { 'agent.yml': 'kind: Agent\nname: a\nmodel: ollama/x\n' };
    const { code, err, left } = await said(['worker', '--store', 'x.db'], files);
    expect(code).toBe(1);
    expect(err).toContain('sqlite:x.db is a store of a single machine');
    expect(left).toEqual(['agent.yml']);
  });
});
